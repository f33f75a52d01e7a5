import Foundation

/// The lines of standard input as bytes, without their ends. One that is far too long to be a question
/// is cut, so that no line takes more memory than that.
struct StandardInput {
  private static let mostBytes = 1 << 20
  /// After which a signal is seen.
  private static let milliseconds: Int32 = 50
  private var buffer: [UInt8] = []
  private var start = 0
  private var isOver = false

  /// Whether the next line may have to be waited for.
  var isDrained: Bool { !buffer[start...].contains(UInt8(ascii: "\n")) }

  /// - Returns: `nil` at the end, and once the command is to end: then for what is no whole line, too.
  mutating func next() async -> [UInt8]? {
    var line: [UInt8] = []
    while true {
      if start == buffer.count {
        if !isOver { buffer = await Self.chunk() }
        (start, isOver) = (0, buffer.isEmpty)
        if isOver { return line.isEmpty || Interruption.isAsked ? nil : line }
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

  /// What one read gives, and nothing at the end. It waits on a thread of its own kind: those of tasks
  /// are as few as there are processors.
  private static func chunk() async -> [UInt8] {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        var chunk = [UInt8](repeating: 0, count: 65536)
        var count = -1
        while !Interruption.isAsked {
          var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
          guard poll(&input, 1, milliseconds) != 0 else { continue }
          count = read(STDIN_FILENO, &chunk, chunk.count)
          if count >= 0 || errno != EINTR { break }
        }
        continuation.resume(returning: Array(chunk.prefix(max(0, count))))
      }
    }
  }
}
