import Dispatch
import Foundation
import Synchronization

extension Tool {
  /// What it prints, and the exit status. It ends with the calling task, whose thread it does not
  /// block.
  ///
  /// - Parameters:
  ///   - seconds: after these it is ended, and the call fails.
  ///   - complaints: whether what it complains about is a part of what it prints.
  /// - Throws: ``ToolError`` when it can't be started, is ended by a signal or takes too long;
  ///   `CancellationError`.
  package func run(
    _ arguments: [String], seconds: Int, complaints: Bool = true
  ) async throws -> (output: String, status: CInt) {
    let child = RunningTool()
    return try await withTaskCancellationHandler {
      let outcome = await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          continuation.resume(
            returning: Result {
              try run(arguments, seconds: seconds, complaints: complaints, child)
            })
        }
      }
      // That it was killed says nothing then.
      try Task.checkCancellation()
      let (output, status) = try outcome.get()
      return (String(decoding: output, as: UTF8.self), status)
    } onCancel: {
      child.end()
    }
  }
}

/// A tool's process for as long as it has its id.
package final class RunningTool: Sendable {
  private let state = Mutex<(id: pid_t?, isEnded: Bool)>((nil, false))

  func begin(_ id: pid_t) {
    state.withLock { state in
      state.id = id
      if state.isEnded { kill(id, SIGKILL) }
    }
  }

  /// Before the process is waited for: its id can be another's afterwards.
  func forget() { state.withLock { $0.id = nil } }

  func end() {
    state.withLock { state in
      state.isEnded = true
      if let id = state.id { kill(id, SIGKILL) }
    }
  }
}
