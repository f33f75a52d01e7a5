import Foundation

/// Another program that does a part of the work.
enum ChildProcess {
  /// Runs it to its end, or to the end of the calling task.
  ///
  /// - Parameter package: Debian's, with the program.
  /// - Returns: its exit code, and what it complained about.
  static func run(
    _ name: String, of package: String, _ arguments: [String]
  ) async throws -> (code: Int32, text: String) {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [name] + arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    // A file, since a pipe that nobody empties would stop the child; one without a name, since this
    // program may die.
    guard let file = tmpfile() else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    defer { fclose(file) }
    let complaints = FileHandle(fileDescriptor: fileno(file))
    process.standardError = complaints
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
        process.terminationHandler = { _ in done.resume() }
        do { try process.run() } catch { return done.resume(throwing: error) }
        // A cancellation before this moment found nothing to end.
        if Task.isCancelled { process.terminate() }
      }
    } onCancel: {
      if process.isRunning { process.terminate() }
    }
    try Task.checkCancellation()
    if process.terminationStatus == 127 {
      throw ServiceError(.permanent, "there is no \(name); install it: apt-get install \(package)")
    }
    try complaints.seek(toOffset: 0)
    let text = String(decoding: try complaints.readToEnd() ?? Data(), as: UTF8.self)
    return (process.terminationStatus, text.trimmingCharacters(in: .whitespacesAndNewlines))
  }
}
