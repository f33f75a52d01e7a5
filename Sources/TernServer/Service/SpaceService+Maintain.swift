#if Server
import TernCore

extension SpaceService {
  /// Does what can wait, in one short transaction: writes down leases, lets go of old uploads,
  /// trims what a snapshot stands for and every reader has, and removes the bytes of all that.
  ///
  /// To be called for every space now and then, an hour apart or so, as ``TernServerApplication``
  /// does; a space where nobody does is never trimmed but after an upload.
  /// - Returns: whether there is more to remove, so that it should be called again.
  public func maintain(_ space: SpaceName) throws -> Bool {
    let (noted, hasMore) = try access.update(space) { locked in
      try locked.ensureRoom()
      // Under the space's lock, as what is written at once is.
      let noted = leases.waiting(in: space)
      return (noted, try locked.upkeep.run(noted))
    }
    leases.remove(noted, in: space)
    return hasMore
  }
}
#endif
