import Foundation

/// The lines of standard input as bytes, without their ends. One that is far too long to be a question
/// is cut, so that no line takes more memory than that.
struct StandardInput {
  private static let mostBytes = 1 << 20
  private var buffer: [UInt8] = []
  private var start = 0
  private var isOver = false

  /// Whether the next line may have to be waited for.
  var isDrained: Bool { !buffer[start...].contains(UInt8(ascii: "\n")) }

  /// - Returns: `nil` at the end, and once the command is to end or the task is cancelled: then for
  ///   what is no whole line, too.
  mutating func next() async -> [UInt8]? {
    var line: [UInt8] = []
    while true {
      if start == buffer.count {
        if !isOver { buffer = await Self.chunk() }
        (start, isOver) = (0, buffer.isEmpty)
        if isOver {
          return line.isEmpty || Interruption.isAsked || Task.isCancelled ? nil : line
        }
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
    var ends: [CInt] = [-1, -1]
    guard pipe(&ends) == 0 else { return [] }
    let (cancelled, cancel) = (ends[0], ends[1])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { for end in ends { close(end) } }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(returning: read(orUntil: cancelled)) }
      }
    } onCancel: {
      var byte: UInt8 = 0
      // The pipe takes a byte: nothing else is written to it.
      _ = write(cancel, &byte, 1)
    }
  }

  private static func read(orUntil cancelled: CInt) -> [UInt8] {
    var chunk = [UInt8](repeating: 0, count: 65536)
    while true {
      var ends = [STDIN_FILENO, Interruption.descriptor, cancelled].map {
        pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
      }
      let count = poll(&ends, nfds_t(ends.count), -1)
      if count < 0, errno == EINTR { continue }
      guard count > 0, !Interruption.isAsked, ends[2].revents == 0 else { return [] }
      let length = Foundation.read(STDIN_FILENO, &chunk, chunk.count)
      if length < 0, errno == EINTR { continue }
      return Array(chunk.prefix(max(0, length)))
    }
  }
}
