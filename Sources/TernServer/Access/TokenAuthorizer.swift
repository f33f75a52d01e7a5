#if Server
import TernCore

/// Takes the tokens that ``SpaceService/createToken(for:of:label:expires:using:)`` made.
public struct TokenAuthorizer: Authorizer {
  private let service: SpaceService
  private let queue: StoreQueue

  /// - Parameter service: the one that is served.
  public init(service: SpaceService) {
    self.init(service: service, queue: StoreQueue(waitingPerSpace: 0))
  }

  init(service: SpaceService, queue: StoreQueue) {
    (self.service, self.queue) = (service, queue)
  }

  public func authorize(_ credential: String?, for space: SpaceName) async throws -> Grant {
    try await queue.read { Grant(try service.authorize(credential, for: space)) }
  }

  /// A token opens one space, for good.
  public func grants(of credential: String?) async throws -> [Grant] {
    try await queue.read {
      let token = try service.access.record(of: credential)
      try token.phase.checkIsRead(token.space)
      return [Grant(token)]
    }
  }

  /// Those of other authorizers are not looked at.
  public func withdrawn(_ grants: Set<Grant>) async throws -> Set<Grant> {
    let own = grants.filter(\.isOfToken)
    guard !own.isEmpty else { return [] }
    let known = try await queue.read { try service.store.tokens(of: own.map(\.account)) }
    let lasting = Set(known.filter { !$0.isExpired(service.clock) }.map(\.digest))
    return own.filter { !lasting.contains($0.account) }
  }
}
#endif
