#if Server
import ArgumentParser
import TernCore
import TernServer

struct SpaceSuspendCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "suspend",
    abstract: "Have a space take nothing from devices until 'tern space resume'.",
    discussion: "Devices pull what it has, keep what they write, and bring it once it is resumed.")

  @OptionGroup var options: DataOptions

  @Argument(help: "The space's name, from 'tern space list'.")
  var space: String

  func run() async throws {
    let name = try SpaceName(space)
    try withVisitingService(options) { service in
      try ofThereOne(name) { try service.asOperator.suspend(name) }
    }
  }
}

struct SpaceResumeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "resume", abstract: "Have a suspended space take again what devices bring.")

  @OptionGroup var options: DataOptions

  @Argument(help: "The space's name, from 'tern space list'.")
  var space: String

  func run() async throws {
    let name = try SpaceName(space)
    try withVisitingService(options) { service in
      try ofThereOne(name) { try service.asOperator.resume(name) }
    }
  }
}

/// - Throws: `ValidationError` where `body` finds that there is no such space.
func ofThereOne(_ space: SpaceName, _ body: () throws -> Void) throws {
  do {
    try body()
  } catch let error as RemoteError where error.code == .notFound {
    throw absent(space)
  }
}
#endif
