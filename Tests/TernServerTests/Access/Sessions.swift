#if Server
import Foundation
import TernCore
import TernServer

/// Lets in whoever has signed in to an app's backend, in place of tokens. An account has a space of
/// its name, and can show it to guests.
actor Sessions: Authorizer {
  struct Session {
    let id: UUID
    let account: String
    let space: SpaceName
    var isGuest = false
    var expires: Date
  }

  /// By the secret that the device has.
  private var sessions: [String: Session] = [:]

  func signIn(_ session: Session, secret: String) { sessions[secret] = session }

  func signOut(secret: String) { sessions[secret] = nil }

  func authorize(_ credential: String?, for space: SpaceName) throws -> Grant {
    guard let credential, let session = sessions[credential] else {
      throw RemoteError(.unauthorized, "the session has ended; sign in again")
    }
    guard session.space == space else {
      throw RemoteError(.forbidden, "the session is of another account's space")
    }
    return Grant(
      id: session.id.uuidString, space: space, member: try MemberName(session.account),
      mayWrite: !session.isGuest, expires: session.expires)
  }

  func withdrawn(_ grants: Set<Grant>) -> Set<Grant> {
    let open = Set(sessions.values.map(\.id.uuidString))
    return grants.filter { !open.contains($0.id) }
  }
}
#endif
