import Foundation

/// The lines of standard input as bytes, without their ends.
package struct StandardInput {
  /// Of a line; what is longer is cut, so that none takes more memory.
  private static let mostBytes = 1 << 20
  /// What was read behind the last line that was handed out, and lines that were not yet.
  private var rest = Data()
  private var lines: ArraySlice<Data> = []
  private var isOver = false

  package init() {}

  /// At most twenty of the lines that are there before more has to be waited for, which may be none.
  ///
  /// - Returns: `nil` at the end.
  package mutating func next() async -> [Data]? {
    if lines.isEmpty {
      guard !isOver else { return nil }
      let chunk = await Self.chunk()
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

  /// What one read gives, and nothing at the end. It waits on a thread of its own kind: those of tasks
  /// are as few as there are processors.
  private static func chunk() async -> Data {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = read(STDIN_FILENO, &bytes, bytes.count)
        continuation.resume(returning: Data(bytes.prefix(max(0, count))))
      }
    }
  }
}
