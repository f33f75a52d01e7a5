#if Server
import Foundation

/// The SHA-256 of a token: all that a store keeps of it.
///
/// Looking it up tells nothing of a token by its timing: who can't guess the token can't choose
/// its digest.
public struct TokenDigest: Hashable, Sendable {
  /// 32 bytes.
  public let bytes: [UInt8]

  public init(token: String) {
    bytes = sha256(Array(token.utf8))
  }

  /// The one whose ``bytes`` a store has kept.
  public init(stored bytes: [UInt8]) {
    self.bytes = bytes
  }
}

extension TokenDigest {
  /// A new token, of 256 random bits.
  static func drawToken(
    _ prefix: String = "tern_", using generator: inout some RandomNumberGenerator
  ) -> String {
    prefix + (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }.hexadecimal
  }
}

extension TokenDigest: CustomStringConvertible {
  /// The first 16 hexadecimal digits, by which an operator names a token.
  public var description: String { bytes.prefix(8).hexadecimal }
}

/// A token's digest, and what it opens.
public struct TokenRecord: Hashable, Sendable {
  public let digest: TokenDigest
  public let space: SpaceName
  /// Whose it is; `nil` for one that names nobody.
  public let member: MemberName?
  public let label: TokenLabel?
  public let created: Date
  /// From when on it opens nothing; `nil` for one that stays until it is revoked.
  public var expires: Date?
  /// That of its space.
  public var phase = SpacePhase.served

  public init(
    digest: TokenDigest, space: SpaceName, member: MemberName? = nil, label: TokenLabel? = nil,
    created: Date, expires: Date? = nil
  ) {
    self.digest = digest
    self.space = space
    self.member = member
    self.label = label
    self.created = created
    self.expires = expires
  }
}
#endif
