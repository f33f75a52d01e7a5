import Foundation

/// The lines of standard input as bytes, without their ends.
package struct StandardInput {
  /// Of a line; what is longer is cut, so that none takes more memory, and is not to be used.
  private static let mostBytes = 1 << 20
  /// What was read behind the last line that was handed out, and lines that were not yet.
  private var rest = Data()
  private var lines: ArraySlice<Data> = []
  private var isOver = false

  package init() {}

  /// At most twenty of the lines that are there before more has to be waited for, which may be none.
  ///
  /// - Returns: `nil` at the end.
  /// - Throws: ``Refusal`` where it can't be read.
  package mutating func next() async throws -> [Data]? {
    if lines.isEmpty {
      guard !isOver else { return nil }
      let chunk = try await Self.chunk()
      isOver = chunk.isEmpty
      lines =
        (rest + chunk).split(
          separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)[...]
      rest = Data(lines.removeLast().prefix(Self.mostBytes))
      if isOver, !rest.isEmpty { lines.append(rest) }
    }
    defer { lines = lines.dropFirst(20) }
    return Array(lines.prefix(20))
  }

  /// Whether the next lines, or the end, are there without a wait.
  package var isReady: Bool {
    var end = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
    return isOver || !lines.isEmpty || poll(&end, 1, 0) > 0
  }

  /// What one read gives, and nothing at the end. It waits on a thread of its own kind: those of tasks
  /// are as few as there are processors.
  private static func chunk() async throws -> Data {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async {
        var bytes = [UInt8](repeating: 0, count: 65536)
        var count = read(STDIN_FILENO, &bytes, bytes.count)
        while count < 0, errno == EINTR { count = read(STDIN_FILENO, &bytes, bytes.count) }
        let reason = String(cString: strerror(errno))
        continuation.resume(
          with: count < 0
            ? .failure(Refusal("the standard input can't be read: \(reason)", .disk))
            : .success(Data(bytes.prefix(count))))
      }
    }
  }
}
