#if Server
import ArgumentParser

/// `tern`: a file for every subcommand.
@main
struct TernCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tern",
    abstract: "The sync server of Tern, and tools for it.",
    subcommands: [
      ServeCommand.self, TokenCommand.self, SpaceCommand.self, InspectCommand.self,
      DoctorCommand.self, ExplainCommand.self, HistoryCommand.self,
    ])
}
#endif
