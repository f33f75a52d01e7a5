#if Server
import Foundation
import TernCore

/// Who asks for a space, and what that is allowed: an ``Authorizer``'s answer.
public struct Grant: Hashable, Sendable {
  /// By what the authorizer knows it again, a user's id for example, and never the secret itself.
  /// Requests under one id share the limits of a token.
  public let id: String
  /// Which of several credentials of that id it is, where that matters; never the secret either.
  public let credential: String?
  public let space: SpaceName
  /// Who it is: what the devices write is then theirs alone. `nil` names nobody.
  public let member: MemberName?
  /// Whether pushes, snapshots and reports are taken. Pulls are in any case.
  public let mayWrite: Bool
  /// From when on it allows nothing, also no open event stream; `nil` is never.
  public let expires: Date?
  /// By what its requests are counted.
  let account: TokenDigest
  /// Whether it is of a token of the store, in which a space that is there has it.
  let isOfToken: Bool

  public init(
    id: String, credential: String? = nil, space: SpaceName, member: MemberName? = nil,
    mayWrite: Bool = true, expires: Date? = nil
  ) {
    self.id = id
    self.credential = credential
    self.space = space
    self.member = member
    self.mayWrite = mayWrite
    self.expires = expires
    account = TokenDigest(token: id)
    isOfToken = false
  }

  package init(_ token: TokenRecord) {
    (id, credential) = (token.digest.description, nil)
    space = token.space
    member = token.member
    mayWrite = true
    expires = token.expires
    account = token.digest
    isOfToken = true
  }
}
#endif
