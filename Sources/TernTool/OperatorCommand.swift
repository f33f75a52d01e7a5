#if Server
import ArgumentParser
import Foundation
import TernCore
import TernServer

struct OperatorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "operator",
    abstract: "Make tokens of operators, who change spaces and tokens over HTTP.",
    subcommands: [OperatorCreateCommand.self])
}

struct OperatorCreateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Print a new token of an operator, and the line for the file of --operator-tokens.",
    discussion: """
      The token is shown this once. Append the second line to the file, which a server reads again \
      by itself. To revoke the token, take the line out.
      """)

  @Argument(help: "The operator's name, as the audit log has it.")
  var name: String

  @OptionGroup var expiry: TokenExpiry

  func run() async throws {
    let name = try OperatorName(name)
    var generator = SystemRandomNumberGenerator()
    let made = OperatorToken(for: name, expires: try expiry.date(.system), using: &generator)
    print(made.token)
    print(made.line)
  }
}
#endif
