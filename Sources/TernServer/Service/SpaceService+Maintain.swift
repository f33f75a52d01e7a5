#if Server
import TernCore

extension SpaceService {
  /// Does what can wait, in one short transaction: writes down leases, lets go of old uploads,
  /// trims what a snapshot stands for and every reader has, and removes the bytes of all that.
  ///
  /// To be called for every space now and then, an hour apart or so, as ``TernServerApplication``
  /// does; a space where nobody does is never trimmed but after an upload. Where another process is
  /// at the space, it does nothing: that one's turn, or the next, brings the same.
  /// - Returns: whether there is more to remove, so that it should be called again.
  public func maintain(_ space: SpaceName) throws -> Bool {
    let done = try access.updateUnlessLocked(space) { locked in
      try locked.ensureRoom()
      // Under the space's lock, as what is written at once is.
      let noted = leases.waiting(in: space)
      return (noted: noted, hasMore: try locked.upkeep.run(noted))
    }
    guard let done else { return false }
    leases.remove(done.noted, in: space)
    return done.hasMore
  }
}
#endif
