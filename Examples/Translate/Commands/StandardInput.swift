import Foundation

/// The lines of standard input as bytes, without their ends. One that is far too long to be a question
/// is cut, so that no line takes more memory than that.
struct StandardInput: Sequence, IteratorProtocol {
  private static let mostBytes = 1 << 20
  private var buffer: [UInt8] = []
  private var start = 0
  private var isOver = false

  mutating func next() -> [UInt8]? {
    var line: [UInt8] = []
    while true {
      if start == buffer.count {
        guard !isOver, refill() else { return line.isEmpty ? nil : line }
      }
      let rest = buffer[start...]
      let end = rest.firstIndex(of: UInt8(ascii: "\n"))
      let piece = rest[..<(end ?? rest.endIndex)]
      line += piece.prefix(Swift.max(0, Self.mostBytes - line.count))
      start = end.map { $0 + 1 } ?? buffer.count
      guard end != nil else { continue }
      if line.last == UInt8(ascii: "\r") { line.removeLast() }
      return line
    }
  }

  private mutating func refill() -> Bool {
    var chunk = [UInt8](repeating: 0, count: 65536)
    var count = -1
    repeat { count = read(STDIN_FILENO, &chunk, chunk.count) } while count < 0 && errno == EINTR
    guard count > 0 else {
      isOver = true
      return false
    }
    (buffer, start) = (Array(chunk[..<count]), 0)
    return true
  }
}
