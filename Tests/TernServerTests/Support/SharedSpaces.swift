#if Server
import Synchronization
import TernCore

@testable import TernServer

/// Lets its accounts into several spaces each, and changes its mind.
final class SharedSpaces: Authorizer {
  /// By the secret that a device sends, whose name the account has too.
  private let accounts = Mutex<[String: Set<SpaceName>]>([:])

  subscript(secret: String) -> Set<SpaceName>? {
    get { accounts.withLock { $0[secret] } }
    set { accounts.withLock { $0[secret] = newValue } }
  }

  private func spaces(_ secret: String?) throws -> (id: String, spaces: Set<SpaceName>) {
    guard let secret, let spaces = self[secret] else {
      throw RemoteError(.unauthorized, "the session has ended; sign in again")
    }
    return (secret, spaces)
  }

  func authorize(_ credential: String?, for space: SpaceName) throws -> Grant {
    let (id, spaces) = try spaces(credential)
    guard spaces.contains(space) else {
      throw RemoteError(.forbidden, "the account has no such space; ask its owner")
    }
    return Grant(id: id, space: space)
  }

  func withdrawn(_ grants: Set<Grant>) -> Set<Grant> {
    grants.filter { self[$0.id]?.contains($0.space) != true }
  }

  func grants(of credential: String?) throws -> [Grant] {
    let (id, spaces) = try spaces(credential)
    return spaces.map { Grant(id: id, space: $0) }
  }

  func gained(beside grants: Set<Grant>) -> Set<Grant> {
    let ids = Set(grants.map(\.id))
    return Set(ids.flatMap { id in (self[id] ?? []).map { Grant(id: id, space: $0) } })
      .subtracting(grants)
  }
}
#endif
