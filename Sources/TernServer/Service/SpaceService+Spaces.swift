#if Server
import TernCore

extension SpaceService {
  /// Makes a space that no token opens yet, durably, for those whom an ``Authorizer`` lets in.
  /// Returns whether it wasn't there before.
  ///
  /// - Throws: ``RemoteError`` with `too-many-spaces`.
  @discardableResult
  public func createSpace(_ space: SpaceName) throws -> Bool {
    try access.update(space) {
      try $0.ensureRoom()
      guard try $0.rows.spacesBefore != nil else { return false }
      try $0.record(.createSpace)
      return true
    }
  }

  /// Removes a space with everything in it, for good: operations, snapshots, leases, reports and
  /// tokens. Returns whether there was one.
  ///
  /// It may be of a file that another process serves. Whoever has one of its tokens is
  /// `unauthorized` from then on, also who has a request on its way; event streams end, those of
  /// another process within two seconds. The space is gone with the first transaction; what it held
  /// goes in short ones, between which other spaces are served. A device keeps what it has, and
  /// brings it to a space of the same name if it is given a token for that.
  /// - Throws: The store's errors. What is left then goes with the next removal, or with the next
  ///   maintenance of a server.
  @discardableResult
  public func removeSpace(_ space: SpaceName) throws -> Bool {
    let wasThere = try asOperator.takeAway(space)
    while try removeRemains() {}
    return wasThere
  }

  /// Removes some of what removed spaces held, in one short transaction. Returns whether there is
  /// more.
  public func removeRemains() throws -> Bool {
    try store.removeRemains(
      rows: limits.trimmedOperations, contentBytes: limits.trimmedBytes)
  }
}
#endif
