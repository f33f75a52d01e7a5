#if Server
import Foundation
import TernCore

/// What an operator does to spaces and tokens, durably. Any process that has the store open can,
/// also beside a server that runs.
public struct SpaceOperator: Sendable {
  let service: SpaceService
  var access: SpaceAccess { service.access }
  var clock: ServerClock { service.clock }

  /// Has a space take nothing from devices until ``resume(_:)``: no operations, snapshots or state
  /// reports. A push that is under way commits before this returns, or is refused. Devices pull
  /// what the space has, and keep what they write.
  ///
  /// - Returns: whether it took something before.
  /// - Throws: ``RemoteError`` with `not-found` where there is no such space, or with `unavailable`
  ///   or `space-moved` where it is on its way to another store; the store's errors.
  @discardableResult
  public func suspend(_ space: SpaceName) throws -> Bool {
    try access.update(space) { space in
      try space.ensureIsThere()
      guard space.rows.suspended == nil else { return false }
      try setSuspended(space, clock.now)
      try space.record(.suspendSpace)
      return true
    }
  }

  /// Has a space take again what devices bring.
  ///
  /// - Returns: whether it was suspended.
  /// - Throws: As ``suspend(_:)`` does.
  @discardableResult
  public func resume(_ space: SpaceName) throws -> Bool {
    try access.update(space) { space in
      try space.ensureIsThere()
      guard space.rows.suspended != nil else { return false }
      try setSuspended(space, nil)
      try space.record(.resumeSpace)
      return true
    }
  }

  private func setSuspended(_ space: LockedSpace, _ time: Date?) throws {
    var deadlines = try space.rows.deadlines
    deadlines.suspended = time
    try space.rows.set(deadlines)
  }

  /// The first transaction of ``SpaceService/removeSpace(_:)``, after which the space is gone.
  func takeAway(_ space: SpaceName) throws -> Bool {
    let wasThere = try service.store.removeSpace(
      space, recording: access.entry(.deleteSpace, space), keeping: access.limits.auditRecords)
    service.leases.forget(space)
    service.board.finish(space)
    return wasThere
  }

  /// As ``SpaceService/revoke(_:)``, by the token's digest.
  @discardableResult
  public func revoke(_ digest: TokenDigest) throws -> Bool {
    guard let record = try service.store.token(digest) else { return false }
    do {
      // Under the space's lock: a move copies all tokens, and none may be revoked here alone.
      return try access.update(record.space) { space in
        try space.ensureIsThere()
        guard let removed = try space.rows.remove(digest) else { return false }
        try space.record(.revokeToken, removed.auditDetails)
        return true
      }
    } catch let error as RemoteError where error.code == .notFound {
      return false
    }
  }

  /// The token that a list names by an id, of one space or of any.
  ///
  /// - Throws: ``RemoteError`` with `not-found` where there is none, or more than one.
  public func token(named id: some StringProtocol, of space: SpaceName? = nil) throws -> TokenRecord
  {
    let matches = try service.store.tokens().filter {
      $0.digest.description == id && (space == nil || $0.space == space)
    }
    guard matches.count == 1 else {
      throw RemoteError(
        .notFound, "there is no token \(String(id).shown()); see 'tern token list'")
    }
    return matches[0]
  }

  /// How long a replaced token goes on where nobody says otherwise: a device that is on its way has
  /// the new one by then.
  public static let grace = Duration.seconds(7 * 86_400)

  /// Makes a token in place of another one, in one transaction: of the same space, member and
  /// label. The other one expires.
  ///
  /// - Parameters:
  ///   - old: any, also one that has expired.
  ///   - grace: how much longer the old one opens the space, unless it expires before.
  ///   - expires: as for ``SpaceService/createToken(for:of:label:expires:using:)``.
  /// - Throws: ``RemoteError`` with `not-found` where there is no such token, or with `unavailable`
  ///   or `space-moved` where its space is on its way to another store.
  public func rotateToken(
    _ old: TokenDigest, grace: Duration, expires: Date? = nil,
    using generator: inout some RandomNumberGenerator
  ) throws -> String {
    let token = TokenDigest.drawToken(using: &generator)
    let digest = TokenDigest(token: token)
    let absent = RemoteError(.notFound, "there is no token \(old); see 'tern token list'")
    guard let known = try service.store.token(old) else { throw absent }
    // Under the space's lock: a move copies all tokens, and none may change here alone.
    try access.update(known.space) { space in
      try space.ensureIsThere()
      let new = TokenRecord(
        digest: digest, space: known.space, member: known.member, label: known.label,
        created: clock.now, expires: expires)
      // The old one may have been revoked since, and then does not come back.
      guard try space.rows.replaceToken(old, expiring: clock.now(after: grace), by: new) else {
        throw absent
      }
      try space.record(
        .rotateToken, new.auditDetails.merging(["replaces": "\(old)"]) { $1 })
    }
    return token
  }
}

extension SpaceService {
  /// What an operator does to spaces and tokens.
  public var asOperator: SpaceOperator { SpaceOperator(service: self) }
}

extension LockedSpace {
  /// - Throws: ``RemoteError`` with `space-suspended`.
  func ensureTakes() throws {
    guard rows.suspended != nil else { return }
    throw RemoteError(
      .spaceSuspended,
      "the space is read-only: its operator suspended it; what was written waits on the device, and "
        + "is taken when the operator resumes the space", now: clock.now)
  }
}
#endif
