#if Server
import ArgumentParser
import TernCore
import TernServer

struct SpaceRestoreCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Bring back what a space trimmed within seven days, and its replaced snapshots.",
    discussion: """
      New devices, and those that begin again, then get the operations themselves. For seven \
      days nothing of the space is trimmed. Drop a wrong snapshot with 'tern snapshot drop'. What comes \
      back counts in the space's own quota, or in the default one if it has none.
      """)

  @OptionGroup var options: DataOptions

  @Argument(help: "The space's name, from 'tern space list'.")
  var space: String

  @Flag(help: "Bring it back even if the space may not store so much. Pushes wait then.")
  var overQuota = false

  @Flag(help: "Trim as before from now on, and bring nothing back.")
  var end = false

  func run() async throws {
    let name = try SpaceName(space)
    try withVisitingService(options) { service in
      do {
        if end {
          try service.endRestore(name)
          return print("space \(name) is trimmed as before")
        }
        let restored = try service.restore(name, overQuota: overQuota)
        print(
          "\(restored.operations) operations are back, and are served from "
            + "\(restored.trimmed + 1) on")
        for id in restored.snapshots { print("snapshot \(id) is back") }
        if restored.bytes > restored.mostBytes {
          print(
            "the space stores \(restored.bytes) bytes, at most \(restored.mostBytes): pushes wait")
        }
      } catch let error as RemoteError where [.notFound, .spaceFull].contains(error.code) {
        throw ValidationError(error.message)
      }
    }
  }
}
#endif
