#if Server
import Foundation
import TernCore

extension SpaceService {
  /// Makes a token that opens `space`, and the space if need be. It can't be shown again.
  ///
  /// - Parameters:
  ///   - member: whose it is: what its devices write is then theirs alone. `nil` names nobody.
  ///   - label: what an operator calls it.
  ///   - expires: from when on it opens nothing, by the server's clock; `nil` is never.
  ///   - generator: a cryptographic one, as `SystemRandomNumberGenerator` is.
  /// - Throws: ``RemoteError`` with `too-many-spaces`.
  public func createToken(
    for space: SpaceName, of member: MemberName? = nil, label: TokenLabel? = nil,
    expires: Date? = nil, using generator: inout some RandomNumberGenerator
  ) throws -> String {
    let token = TokenDigest.drawToken(using: &generator)
    let record = TokenRecord(
      digest: TokenDigest(token: token), space: space, member: member, label: label,
      created: clock.now, expires: expires)
    try access.update(space) {
      try $0.ensureRoom()
      if try $0.rows.spacesBefore != nil { try $0.record(.createSpace) }
      try $0.rows.add(record)
      try $0.record(.createToken, record.auditDetails)
    }
    return token
  }

  /// Makes a token open nothing any more. Event streams that it opened end within two seconds,
  /// those of other processes too.
  ///
  /// - Returns: whether there was such a token.
  /// - Throws: ``RemoteError`` with `unavailable` or `space-moved` where its space is on its way to
  ///   another store, which has the token too; the store's errors.
  @discardableResult
  public func revoke(_ token: String) throws -> Bool {
    try asOperator.revoke(TokenDigest(token: token))
  }

  /// Returns when `token` opens `space`: what the store knows of it.
  ///
  /// - Throws: ``RemoteError`` with `unauthorized` or `forbidden`; with `space-moved` or
  ///   `unavailable` where another store serves the space, or this one not yet.
  @discardableResult
  public func authorize(_ token: String?, for space: SpaceName) throws -> TokenRecord {
    let record = try access.record(of: token)
    guard record.space == space || Planted.isActive(.tokenOpensAll) else {
      throw RemoteError(
        .forbidden, "the token is for another space; use this space's own token")
    }
    try record.phase.checkIsRead(space)
    return record
  }
}

extension SpaceAccess {
  /// Returns what the store knows of a token that opens a space.
  ///
  /// - Throws: ``RemoteError`` with `unauthorized`.
  func record(of token: String?) throws -> TokenRecord {
    guard let token, let record = try store.token(TokenDigest(token: token)) else {
      throw RemoteError(
        .unauthorized,
        "the token is missing or unknown; make one with 'tern token create' and send it as "
          + "'Authorization: Bearer …'")
    }
    if let expires = record.expires, record.isExpired(clock) {
      throw RemoteError(
        .unauthorized,
        "the token expired at \(expires.ISO8601Format()); ask for a new one where it came from")
    }
    return record
  }
}

extension TokenRecord {
  /// Whether it opens nothing any more.
  public func isExpired(_ clock: ServerClock) -> Bool {
    expires.map { clock.hasPassed($0) } ?? false
  }
}
#endif
