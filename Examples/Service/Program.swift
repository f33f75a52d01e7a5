import ArgumentParser
import Foundation

extension AsyncParsableCommand {
  /// Runs what the command line asks for.
  package static func runAsAsked() async throws {
    var command = try parseAsRoot()
    if var command = command as? any AsyncParsableCommand {
      try await command.run()
    } else {
      try command.run()
    }
  }

  /// Runs what the command line asks for, and ends the program as ``Ending`` has it.
  ///
  /// - Parameter ending: how the program's own errors end it, `nil` for what it doesn't know.
  package static func runToItsEnd(_ ending: @Sendable (any Error) -> Ending? = { _ in nil }) async {
    do {
      try await runAsAsked()
    } catch {
      let known: Ending? =
        switch error {
        case let refusal as Refusal: refusal.ending
        case is ListenError, is MisdeedError: .usage
        default: ending(error)
        }
      guard let known else { exit(withError: error) }
      // Where this can't be said, the status says it.
      try? FileHandle.standardError.write(contentsOf: Data("Error: \(error)\n".utf8))
      exit(withError: ExitCode(known.rawValue))
    }
  }
}
