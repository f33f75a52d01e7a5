#if Server
import ArgumentParser
import Foundation
import TernServer

struct SpaceDeleteCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Delete a space with everything in it, its tokens too, for good.",
    discussion: "Without --yes it says what would go, and deletes nothing.")

  @OptionGroup var options: DataOptions

  @Argument(help: "The space's name, from 'tern space list'.")
  var space: String

  @Flag(help: "Delete it.")
  var yes = false

  func run() async throws {
    let name = try SpaceName(space)
    // The log of a long removal would grow where no server writes it back.
    let isThere = FileManager.default.fileExists(atPath: options.data)
    let lock =
      yes && isThere && !options.isDatabase ? try? ServingLock(dataPath: options.data) : nil
    defer { lock?.release() }
    try withVisitingService(options, checkpoints: lock != nil) { service in
      try checkIsThere(name, service)
      guard yes else {
        let contents = try service.contents(of: name, service.store.tokens())
        throw Unconfirmed(space: name, contents: contents)
      }
      // Another one may have been first.
      guard try service.removeSpace(name) else { throw absent(name) }
    }
  }

  /// Thrown in place of a question.
  struct Unconfirmed: Error, CustomStringConvertible {
    var space: SpaceName
    var contents: String
    var description: String {
      "this would delete \(space) for good: \(contents), its snapshots and what devices told of "
        + "themselves; add --yes to do it"
    }
  }
}
#endif
