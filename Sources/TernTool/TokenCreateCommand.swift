#if Server
import ArgumentParser
import TernServer

struct TokenCreateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Print a new token for a space. It is shown this once.")

  @OptionGroup var options: DataOptions

  @Option(help: "The space that the token opens. It is made if it is absent.")
  var space: String

  func run() async throws {
    let name = try SpaceName(space)
    try withVisitingService(options, mayCreate: true) { service in
      var generator = SystemRandomNumberGenerator()
      print(try service.createToken(for: name, using: &generator))
    }
  }
}
#endif
