#if Server
import ArgumentParser
import TernCore
import TernServer

struct TokenRevokeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke",
    abstract: "Revoke a token, all of a member, or those that expired: they open nothing any more.",
    discussion: "Open event streams end within two seconds.")

  @OptionGroup var options: DataOptions

  @Argument(help: "The token's id, from 'tern token list'.")
  var id: String?

  @Option(help: "Revoke all tokens of this member, in every space or in the one that is named.")
  var member: String?

  @Option(help: "The space in which the member's tokens are revoked.")
  var space: String?

  @Flag(help: "Remove all tokens that have expired, which open nothing anyway.")
  var expired = false

  func validate() throws {
    guard [id != nil, member != nil, expired].count(where: { $0 }) == 1 else {
      throw ValidationError("name one token's id, or a member with --member, or say --expired")
    }
    guard space == nil || member != nil else {
      throw ValidationError("--space goes with --member; a token's id is enough")
    }
  }

  func run() async throws {
    let member = try member.map { try MemberName($0) }
    let space = try space.map { try SpaceName($0) }
    try withVisitingService(options) { service in
      var refused: RemoteError?
      for token in try tokens(of: member, in: space, service) {
        do {
          try service.asOperator.revoke(token.digest)
        } catch let error as RemoteError {
          // Its space is on its way to another store; those of others are revoked all the same.
          refused = error
        }
      }
      if let refused { throw ValidationError("a token is not revoked: \(refused.message)") }
    }
  }

  private func tokens(
    of member: MemberName?, in space: SpaceName?, _ service: SpaceService
  ) throws -> [TokenRecord] {
    if let id { return [try service.token(named: id)] }
    let all = try service.store.tokens()
    guard let member else { return all.filter { $0.isExpired(service.clock) } }
    let own = all.filter { $0.member == member && (space == nil || $0.space == space) }
    guard !own.isEmpty else {
      throw ValidationError("there is no token of \(member); see 'tern token list'")
    }
    return own
  }
}
#endif
