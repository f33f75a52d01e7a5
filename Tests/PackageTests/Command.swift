import Foundation
import TestProcesses

/// Runs a command to its end without blocking a thread that other tests need.
///
/// - Returns: what it printed, errors included, and its exit status.
func run(_ command: [String]) async throws -> (output: String, code: CInt) {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread {
      continuation.resume(with: Result { try runBlocking(command) })
    }
  }
}

private func runBlocking(_ command: [String]) throws -> (output: String, code: CInt) {
  // The shell joins the two outputs; the arguments reach the command as they are.
  let process = try ChildProcess(
    "/bin/sh", arguments: ["-c", "exec \"$@\" 2>&1", "sh"] + command)
  process.endInput()
  var output: [UInt8] = []
  while let bytes = process.read() { output += bytes }
  return (String(decoding: output, as: UTF8.self), process.wait())
}
