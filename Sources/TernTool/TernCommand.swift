#if Server
import ArgumentParser
import Foundation
import TernCore

/// `tern`: a file for every subcommand.
@main
struct TernCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tern",
    abstract: "Tern's sync server, and tools that look into its files and those of apps.",
    subcommands: [
      ServeCommand.self, TokenCommand.self, SpaceCommand.self, ReplicaCommand.self,
      SnapshotCommand.self, StoreCommand.self, OperatorCommand.self,
      AuditCommand.self,
      InspectCommand.self,
      DoctorCommand.self, ExplainCommand.self, HistoryCommand.self,
    ])

  /// Ends with what the parser says of an error, as a terminal can show it.
  static func main() async {
    var given: GivenSettings?
    do {
      let line = Array(CommandLine.arguments.dropFirst())
      // Help is had whatever the file of settings says.
      if Set(line).isDisjoint(with: ["-h", "--help", "help"]) {
        given = try await GivenSettings(
          CommandOptions(of: line, below: Self.self), line: line,
          environment: ProcessInfo.processInfo.environment)
      }
      var command = try parseAsRoot(line + (given?.arguments ?? []))
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch {
      let code = exitCode(for: error)
      let message = fullMessage(for: error)
      let text = (message + (given?.places(in: message) ?? "")).shown(keepsLines: true)
      let output = code.isSuccess ? FileHandle.standardOutput : .standardError
      if !text.isEmpty { output.write(Data("\(text)\n".utf8)) }
      Foundation.exit(code.rawValue)
    }
  }
}
#endif
