#if Server
import TernCore

extension SpaceService {
  /// Makes a token that opens `space`, and the space if need be. It can't be shown again.
  ///
  /// - Parameters:
  ///   - member: whose it is: what its devices write is then theirs alone. `nil` names nobody.
  ///   - generator: a cryptographic one, as `SystemRandomNumberGenerator` is.
  /// - Throws: ``RemoteError`` with `too-many-spaces`.
  public func createToken(
    for space: SpaceName, of member: MemberName? = nil,
    using generator: inout some RandomNumberGenerator
  ) throws -> String {
    let secret = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    let token = "tern_" + secret.hexadecimal
    try access.update(space) {
      try $0.ensureRoom()
      try $0.rows.add(
        TokenDigest(token: token), of: member, created: clock.now)
    }
    return token
  }

  /// Makes a token open nothing any more; event streams that it opened end within 15 seconds.
  ///
  /// - Returns: whether there was such a token.
  @discardableResult
  public func revoke(_ token: String) throws -> Bool {
    try store.removeToken(TokenDigest(token: token))
  }

  /// Returns when `token` opens `space`: what the store knows of it.
  ///
  /// - Throws: ``RemoteError`` with `unauthorized` or `forbidden`.
  @discardableResult
  public func authorize(_ token: String?, for space: SpaceName) throws -> TokenRecord {
    guard let token, let record = try store.token(TokenDigest(token: token)) else {
      throw RemoteError(
        .unauthorized,
        "the token is missing or unknown; make one with 'tern token create' and send it as "
          + "'Authorization: Bearer …'")
    }
    guard record.space == space || Planted.isActive(.tokenOpensAll) else {
      throw RemoteError(
        .forbidden, "the token is for another space; use this space's own token")
    }
    return record
  }
}
#endif
