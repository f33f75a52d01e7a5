#if Server
import ArgumentParser
import Foundation
import TernServer

struct SpaceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "space",
    abstract:
      "Make, list, limit, suspend, mend, move and delete spaces. The server may be running.",
    subcommands: [
      SpaceListCommand.self, SpaceCreateCommand.self, SpaceQuotaCommand.self,
      SpaceHorizonCommand.self, SpaceSuspendCommand.self, SpaceResumeCommand.self,
      SpaceRefillCommand.self,
      SpaceRestoreCommand.self, SpaceMoveCommand.self, SpaceDeleteCommand.self,
    ])
}

extension SpacePhase {
  /// What a list says of a space that is on its way; `nil` where it is not.
  var text: String? {
    switch self {
    case .served: nil
    case .leaving: "being copied to another store"
    case .frozen: "frozen until its move is finished"
    case .moved: "moved to another store"
    case .arriving: "being moved here"
    }
  }
}

extension SpaceService {
  /// How much a space holds, for a person; of a damaged one, why nobody knows.
  func contents(of space: SpaceName, _ tokens: [TokenRecord]) throws -> String {
    let summary: SpaceSummary
    do {
      summary = try store.summary(of: space)
    } catch let error as StoreError {
      return "damaged: \(error)"
    }
    let (operations, opening) = (summary.position, tokens.count { $0.space == space })
    return "\(operations) operation\(operations == 1 ? "" : "s"), "
      + "\(opening) token\(opening == 1 ? "" : "s")"
      + (summary.suspended.map { ", suspended since \($0.ISO8601Format())" } ?? "")
      + (summary.standing.phase.text.map { ", \($0)" } ?? "")
  }
}
#endif
