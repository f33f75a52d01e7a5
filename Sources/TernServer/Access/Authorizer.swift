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

  /// All that a credential opens, a grant for each space: an event stream tells of all of them.
  ///
  /// Spaces that aren't there yet may be among them. The stream tells of one once it is made.
  ///
  /// - Parameter credential: as for ``authorize(_:for:)``.
  /// - Throws: as ``authorize(_:for:)``. Unless you implement this, it is `forbidden`, and devices
  ///   listen to each space by itself.
  func grants(of credential: String?) async throws -> [Grant]

  /// What the holders of some grants have been given beside them: grants of other spaces, with the
  /// same ``Grant/id`` and ``Grant/credential``. Their event streams then tell of these too.
  ///
  /// Asked once a second, with all grants of all open streams of several spaces. Nothing, unless
  /// you implement this. An error is as one of ``withdrawn(_:)``.
  func gained(beside grants: Set<Grant>) async throws -> Set<Grant>
}

extension Authorizer {
  public func grants(of credential: String?) async throws -> [Grant] {
    throw RemoteError(
      .forbidden, "nobody here says which spaces a credential opens; listen to each by itself")
  }

  public func gained(beside grants: Set<Grant>) async throws -> Set<Grant> { [] }
}
#endif
