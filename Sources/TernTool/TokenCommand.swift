#if Server
import ArgumentParser

struct TokenCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token",
    abstract: "Make, list, rotate and revoke tokens. The server may be running.",
    subcommands: [
      TokenCreateCommand.self, TokenListCommand.self, TokenRotateCommand.self,
      TokenRevokeCommand.self,
    ])
}
#endif
