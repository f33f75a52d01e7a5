#if Server
import TernCore

extension SpaceService {
  /// Removes a space with everything in it, for good: operations, snapshots, leases, reports and
  /// tokens. Returns whether there was one.
  ///
  /// It may be of a file that another process serves. Whoever has one of its tokens is
  /// `unauthorized` from then on, also who has a request on its way; event streams end, those of
  /// another process with their next sign of life. One transaction, which for a large space takes a
  /// while, and pushes to other spaces wait for it. A device keeps what it has, and brings it to a
  /// space of the same name if it is given a token for that.
  /// - Throws: The store's errors; then the space is as it was.
  @discardableResult
  public func removeSpace(_ space: SpaceName) throws -> Bool {
    let wasThere = try store.removeSpace(space)
    leases.forget(space)
    board.finish(space)
    return wasThere
  }
}
#endif
