#if Server
import ArgumentParser
import TernServer

struct SpaceCreateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Make a space without a token, for those whom something else lets in.",
    discussion: "'tern token create' makes its space by itself.")

  @OptionGroup var options: DataOptions

  @Argument(help: "The new space's name.")
  var space: String

  func run() async throws {
    let name = try SpaceName(space)
    try withVisitingService(options, mayCreate: true) { service in
      guard try service.createSpace(name) else {
        throw ValidationError("there is a space \(name) already; see 'tern space list'")
      }
    }
  }
}
#endif
