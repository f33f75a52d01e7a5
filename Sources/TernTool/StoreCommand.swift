#if Server
import ArgumentParser

struct StoreCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store", abstract: "Look after a store as a whole.",
    subcommands: [StoreMigrateCommand.self])
}
#endif
