#if JWTs
import Foundation
import TernCore

/// Takes JSON Web Tokens (RFC 7519) of an issuer that it knows by its public keys, and the store's
/// own tokens beside them.
///
/// - Source: RFC 8725, JSON Web Token Best Current Practices.
public struct JWTAuthorizer: Authorizer {
  private let keys: JWTKeySet
  private let denials: JWTDenials
  private let rules: JWTRules
  private let tokens: TokenAuthorizer
  private let clock: ServerClock

  /// The longest, in bytes.
  private static let mostBytes = 16 << 10

  /// Reads the keys and the list for the first time.
  ///
  /// - Parameters:
  ///   - keys: of the issuer.
  ///   - denied: a file that lists denied tokens, a `jti ID` or `sub NAME` a line. It is read again
  ///     while the server runs; `nil` denies nobody.
  ///   - service: the one that is served.
  /// - Throws: ``JWTKeyError``, ``JWTDenialError``, or what reading a URL throws.
  public init(
    keys: JWTKeySource, rules: JWTRules, denied: String? = nil, service: SpaceService
  ) async throws {
    try await self.init(JWTKeySet(keys), rules, JWTDenials(path: denied), service)
  }

  init(
    _ keys: JWTKeySet, _ rules: JWTRules, _ denials: JWTDenials, _ service: SpaceService
  ) async throws {
    (self.keys, self.rules, self.denials) = (keys, rules, denials)
    (tokens, clock) = (TokenAuthorizer(service: service), service.clock)
    try await keys.load()
    try await denials.refresh()
  }

  public func authorize(_ credential: String?, for space: SpaceName) async throws -> Grant {
    guard let credential, !credential.hasPrefix("tern_") else {
      return try await tokens.authorize(credential, for: space)
    }
    let claims = try await allowed(credential)
    guard claims.spaces.contains(space.text) else {
      throw RemoteError(
        .forbidden, "the JSON Web Token is for other spaces; get one that names \(space)")
    }
    return try grant(claims, space)
  }

  /// The spaces that a token names. A name that no space can have is of none.
  public func grants(of credential: String?) async throws -> [Grant] {
    guard let credential, !credential.hasPrefix("tern_") else {
      return try await tokens.grants(of: credential)
    }
    let claims = try await allowed(credential)
    return try Set(claims.spaces).sorted().compactMap { name in
      guard let space = try? SpaceName(name) else { return nil }
      return try grant(claims, space)
    }
  }

  private func grant(_ claims: JWTClaims, _ space: SpaceName) throws -> Grant {
    Grant(
      id: claims.subject, credential: claims.id, space: space,
      member: try MemberName(claims.subject), mayWrite: claims.mayWrite, expires: claims.expires)
  }

  private func allowed(_ credential: String) async throws -> JWTClaims {
    let claims = try await verified(credential)
    guard try await denials.denied([(claims.subject, claims.id)]) == [false] else {
      throw JWTClaims.refused("its owner, or it alone, was denied")
    }
    return claims
  }

  public func withdrawn(_ grants: Set<Grant>) async throws -> Set<Grant> {
    let own = grants.filter { !$0.isOfToken }
    let denied = try await denials.denied(own.map { ($0.id, $0.credential) })
    let others = try await tokens.withdrawn(grants)
    return others.union(zip(own, denied).filter(\.1).map(\.0))
  }

  private struct Header: Decodable {
    let alg: String
    let kid: String?
    let crit: [String]?
  }

  /// - Source: RFC 7515, section 5.2.
  private func verified(_ credential: String) async throws -> JWTClaims {
    let parts = credential.split(separator: ".", omittingEmptySubsequences: false)
    guard credential.utf8.count <= Self.mostBytes, parts.count == 3,
      let head = Data(base64URL: parts[0]), let body = Data(base64URL: parts[1]),
      let signature = Data(base64URL: parts[2]),
      let header = try? JSONDecoder().decode(Header.self, from: head)
    else { throw JWTClaims.refused("it can't be read") }
    // What must be understood is nothing that is known here.
    guard header.crit == nil else { throw JWTClaims.refused("it has extensions ('crit')") }
    guard let key = try await keys.key(named: header.kid) else {
      throw JWTClaims.refused("its key is not one of its issuer's")
    }
    guard header.alg == key.algorithm else {
      throw JWTClaims.refused("its algorithm is not its key's")
    }
    guard key.verifies(signature, of: Array("\(parts[0]).\(parts[1])".utf8)) else {
      throw JWTClaims.refused("its signature is wrong")
    }
    return try JWTClaims(body, rules, clock)
  }
}
#endif
