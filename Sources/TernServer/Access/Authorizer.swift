#if Server
import TernCore

/// Says who may use which space. Tokens are one, see ``TokenAuthorizer``; an app's backend that
/// embeds ``TernServerApplication`` can supply its own.
///
/// The server asks it before it reads a request's body. It makes no space for a grant, and refuses
/// a space that isn't there, or was deleted, as `unauthorized`.
public protocol Authorizer: Sendable {
  /// Who sends a request to a space.
  ///
  /// Each request waits for the answer, so answer from memory where you can, and block no thread.
  ///
  /// - Parameter credential: what follows `Bearer` in the field `Authorization`; `nil` where there
  ///   is nothing, or something else.
  /// - Throws: ``RemoteError`` to refuse: with `unauthorized` for a credential that is good for
  ///   nothing, which makes a device ask its app for another one, or `forbidden` for one of another
  ///   space. Its message is sent. Any other error is answered `unavailable`, and the device tries
  ///   again.
  func authorize(_ credential: String?, for space: SpaceName) async throws -> Grant

  /// Which of some grants hold no more. Their event streams are ended.
  ///
  /// The server asks once a second, for all open event streams at once. Those that expired are not
  /// among them. Where this throws, or doesn't return, for 30 seconds, all event streams end:
  /// nobody knows then whom they tell.
  func withdrawn(_ grants: Set<Grant>) async throws -> Set<Grant>
}
#endif
