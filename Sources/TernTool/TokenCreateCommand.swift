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

  @Option(
    help: ArgumentHelp(
      "Whose token it is: a name, the same for all tokens of one person.",
      discussion: "What devices write with it is that member's alone."))
  var member: String?

  @Option(help: "What you call the token, such as the device that gets it.")
  var label: String?

  @OptionGroup var expiry: TokenExpiry

  func run() async throws {
    let name = try SpaceName(space)
    let label = try label.map { try TokenLabel($0) }
    let member = try member.map { try MemberName($0) }
    try withVisitingService(options, mayCreate: true) { service in
      var generator = SystemRandomNumberGenerator()
      print(
        try service.createToken(
          for: name, of: member, label: label, expires: expiry.date(service.clock),
          using: &generator))
    }
  }
}
#endif
