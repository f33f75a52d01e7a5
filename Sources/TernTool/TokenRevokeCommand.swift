#if Server
import ArgumentParser
import TernServer

struct TokenRevokeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke",
    abstract: "Revoke a token, or all of a member: the next request that carries one is refused.")

  @OptionGroup var options: DataOptions

  @Argument(help: "The token's id, from 'tern token list'.")
  var id: String?

  @Option(help: "Revoke all tokens of this member, in every space or in the one that is named.")
  var member: String?

  @Option(help: "The space in which the member's tokens are revoked.")
  var space: String?

  func validate() throws {
    guard (id == nil) != (member == nil) else {
      throw ValidationError("name one token's id, or a member with --member")
    }
    guard space == nil || member != nil else {
      throw ValidationError("--space goes with --member; a token's id is enough")
    }
  }

  func run() async throws {
    let member = try member.map { try MemberName($0) }
    let space = try space.map { try SpaceName($0) }
    try withVisitingService(options) { service in
      let matches = try service.store.tokens().filter { token in
        guard let member else { return token.digest.description == id }
        return token.member == member && (space == nil || token.space == space)
      }
      guard !matches.isEmpty, member != nil || matches.count == 1 else {
        let what = member.map { "there is no token of \($0)" } ?? "there is no token \(id ?? "")"
        throw ValidationError("\(what); see 'tern token list'")
      }
      for match in matches { _ = try service.store.removeToken(match.digest) }
    }
  }
}
#endif
