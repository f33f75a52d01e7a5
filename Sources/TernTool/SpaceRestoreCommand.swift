#if Server
import ArgumentParser
import TernCore
import TernServer

struct SpaceRestoreCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Bring back what a space trimmed within seven days, and the snapshots that gave way.",
    discussion: """
      Devices that come anew, or begin again, are then given the operations themselves. For seven \
      days nothing of the space is trimmed. Drop a wrong snapshot with 'tern snapshot drop'.
      """)

  @OptionGroup var options: DataOptions

  @Argument(help: "The space's name, from 'tern space list'.")
  var space: String

  func run() async throws {
    let name = try SpaceName(space)
    try withVisitingService(options) { service in
      do {
        let restored = try service.restore(name)
        print(
          "\(restored.operations) operations are back, and are served from "
            + "\(restored.trimmed + 1) on")
        for id in restored.snapshots { print("snapshot \(id) is back") }
      } catch let error as RemoteError where error.code == .notFound {
        throw ValidationError(error.message)
      }
    }
  }
}
#endif
