import Synchronization

/// Says each line of what is told again and again when it is another than before.
package final class Teller: Sendable {
  private let told = Mutex<Set<String>>([])

  package init() {}

  package func tell(_ lines: [String]) {
    told.withLock { told in
      for line in lines where !told.contains(line) { say(line) }
      told = Set(lines)
    }
  }
}
