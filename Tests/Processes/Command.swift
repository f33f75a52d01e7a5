#if os(Linux) || os(macOS)
import Foundation

/// Runs a command to its end without blocking a thread that other tests need.
///
/// - Returns: what it printed, errors included, and its exit status.
package func run(_ command: [String]) async throws -> (output: String, code: CInt) {
  try await run(command) { _, _ in }
}

/// - Parameter heard: told after each piece of output of all that was said up to it.
package func run(
  _ command: [String], heard: @escaping @Sendable (String, ChildProcess) -> Void
) async throws -> (output: String, code: CInt) {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread {
      continuation.resume(with: Result { try runBlocking(command, heard) })
    }
  }
}

private func runBlocking(
  _ command: [String], _ heard: (String, ChildProcess) -> Void
) throws -> (output: String, code: CInt) {
  // The shell joins the two outputs; the arguments reach the command as they are.
  let process = try ChildProcess(
    "/bin/sh", arguments: ["-c", "exec \"$@\" 2>&1", "sh"] + command)
  process.endInput()
  var output: [UInt8] = []
  while let bytes = process.read() {
    output += bytes
    heard(String(decoding: output, as: UTF8.self), process)
  }
  return (String(decoding: output, as: UTF8.self), process.wait())
}
#endif
