#if Server
import Foundation
import TernCore

/// A new token of an operator, which can't be shown again, and the line by which a server knows it.
public struct OperatorToken: Hashable, Sendable {
  /// What the operator sends.
  public let token: String
  /// What is added to the file of ``OperatorTokens``.
  public let line: String

  /// By which one is told from a device's, so that neither is ever taken for the other.
  static let prefix = "tern_operator_"

  /// - Parameters:
  ///   - expires: from when on it allows nothing, to the second; `nil` is never.
  ///   - generator: a cryptographic one, as `SystemRandomNumberGenerator` is.
  public init(
    for name: OperatorName, expires: Date? = nil, using generator: inout some RandomNumberGenerator
  ) {
    token = TokenDigest.drawToken(Self.prefix, using: &generator)
    let digest = OperatorTokens.digestPrefix + TokenDigest(token: token).bytes.hexadecimal
    line = ([name.text, digest] + (expires.map { [$0.ISO8601Format()] } ?? []))
      .joined(separator: " ")
  }
}
#endif
