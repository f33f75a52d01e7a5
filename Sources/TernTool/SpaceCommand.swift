#if Server
import ArgumentParser
import TernServer

struct SpaceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "space",
    abstract: "List, make, limit, mend and delete spaces. The server may be running.",
    subcommands: [
      SpaceListCommand.self, SpaceCreateCommand.self, SpaceQuotaCommand.self,
      SpaceRefillCommand.self, SpaceRestoreCommand.self, SpaceDeleteCommand.self,
    ])
}

extension SpaceService {
  /// How much a space holds, for a person; of a damaged one, why nobody knows.
  func contents(of space: SpaceName, _ tokens: [TokenRecord]) throws -> String {
    let operations: UInt64
    do {
      operations = try store.position(of: space)
    } catch let error as StoreError {
      return "damaged: \(error)"
    }
    let opening = tokens.count { $0.space == space }
    return "\(operations) operation\(operations == 1 ? "" : "s"), "
      + "\(opening) token\(opening == 1 ? "" : "s")"
  }
}
#endif
