#if Server
import ArgumentParser
import TernServer

struct TokenRevokeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke",
    abstract: "Revoke a token: the next request that carries it is refused.")

  @OptionGroup var options: DataOptions

  @Argument(help: "The token's id, from 'tern token list'.")
  var id: String

  func run() async throws {
    try withVisitingService(options) { service in
      let matches = try service.store.tokens().filter { $0.digest.description == id }
      guard let match = matches.first, matches.count == 1 else {
        throw ValidationError("there is no token \(id); see 'tern token list'")
      }
      _ = try service.store.removeToken(match.digest)
    }
  }
}
#endif
