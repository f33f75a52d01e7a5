import ExampleProcesses
import Foundation
import Synchronization

/// A `scan run` that works until it is told to end.
final class ScanRun: Sendable {
  private let process: ChildProcess
  private let output = Mutex("")

  init(_ folder: ScanFolder, _ words: String...) throws {
    process = try folder.start(["run"] + words)
  }

  /// What it has said up to the line in which all these words are for the first time.
  func said(_ words: String...) async throws -> String {
    try await blocking { [self] in
      while true {
        let text = output.withLock { $0 }
        if text.split(separator: "\n").contains(where: { line in words.allSatisfy(line.contains) })
        {
          return text
        }
        guard let bytes = process.read() else { throw Ended(text: text) }
        output.withLock { $0 += String(decoding: bytes, as: UTF8.self) }
      }
    }
  }

  func end(_ signal: CInt = SIGTERM) async throws -> ScanFolder.Outcome {
    try await blocking { [self] in
      process.kill(signal)
      process.endInput()
      while let bytes = process.read() {
        output.withLock { $0 += String(decoding: bytes, as: UTF8.self) }
      }
      return ScanFolder.Outcome(status: process.wait(), text: output.withLock { $0 })
    }
  }

  struct Ended: Error {
    var text: String
  }
}
