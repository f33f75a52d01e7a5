#if Server
import TernCore

extension SpaceService {
  /// Operations that follow `cursor` in the space's order, from the first when it is `nil`, without
  /// those of `excluded`.
  ///
  /// - Throws: ``RemoteError`` with `cursor-unknown` when the cursor is not of this history: the
  ///   store was wiped, or restored from a backup that is older than the cursor.
  public func pull(
    from space: SpaceName, after cursor: Cursor?, excluding excluded: ReplicaID? = nil
  )
    throws -> PulledPage
  {
    let place = try cursor.map { cursor in
      guard let place = SpaceCursor(cursor), place.epoch == store.epoch else {
        throw unknown()
      }
      return place
    }
    let position = place?.position ?? 0
    let stored = try store.page(
      of: space, after: position, excluding: excluded, contentBytes: limits.pageBytes,
      operations: limits.pageOperations)
    let known = SpaceCursor(epoch: store.epoch, position: position, chain: stored.chainBefore)
    guard position <= stored.head, place == nil || place == known else { throw unknown() }
    let next = SpaceCursor(
      epoch: store.epoch, position: stored.end, chain: stored.lastChain ?? stored.chainBefore)
    return PulledPage(
      operations: try stored.operations.map { try Operation(bytes: $0) }, cursor: next.cursor,
      hasMore: stored.end < stored.head, nowMilliseconds: clock.nowMilliseconds)
  }

  private func unknown() -> RemoteError {
    RemoteError(
      .cursorUnknown,
      "the cursor is not of this server's history, which was wiped or restored; pull without one",
      nowMilliseconds: clock.nowMilliseconds)
  }
}
#endif
