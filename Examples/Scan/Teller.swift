import ExampleService
import Synchronization

/// Says each line of a board when it is another than before.
final class Teller: Sendable {
  private let told = Mutex<Set<String>>([])

  func tell(_ board: Board) {
    let lines = board.lines()
    told.withLock { told in
      for line in lines where !told.contains(line) { say(line) }
      told = Set(lines)
    }
  }
}
