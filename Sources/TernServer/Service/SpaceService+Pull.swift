#if Server
@_spi(Rehearsal) import TernCore

extension SpaceService {
  /// Operations that follow `cursor` in the space's order, from the first when it is `nil`, without
  /// those of `excluded`, which holds the horizon back from here on, if `member` has claimed its
  /// id. For somebody whom no token names it does if nobody has.
  ///
  /// - Throws: ``RemoteError`` with `cursor-unknown` when the cursor is not of this history: the
  ///   store was wiped, or restored from a backup that is older than the cursor; with
  ///   `snapshot-needed` when operations after it are served no more, or a base comes next; with
  ///   `too-many-replicas`.
  public func pull(
    from space: SpaceName, after cursor: RemoteCursor?, excluding excluded: ReplicaID? = nil,
    by member: MemberName? = nil
  )
    throws -> PulledPage
  {
    let page = try page(of: space, after: cursor, excluding: excluded)
    let renewal = try LeaseRenewal(
      of: excluded, after: cursor, given: page, in: space, by: member, at: self)
    if let renewal { _ = try settle(renewal) }
    return page
  }

  /// The page alone.
  func page(
    of space: SpaceName, after cursor: RemoteCursor?, excluding excluded: ReplicaID?
  ) throws -> PulledPage {
    let place = try cursor.map { cursor in
      guard let place = SpaceCursor(cursor) else { throw RemoteError.unknownCursor(clock) }
      return place
    }
    let position = place?.position ?? 0
    let stored = try store.page(
      of: space, after: position, excluding: excluded, contentBytes: limits.pageBytes,
      operations: Planted.isActive(.pageUnlimited) ? .max : limits.pageOperations)
    try stored.standing.checkIsRead(space)
    let epoch = stored.standing.epoch
    guard place?.isKnown(to: stored) ?? true else { throw RemoteError.unknownCursor(clock) }
    guard position >= stored.trimmed else {
      throw RemoteError.trimmed(position, stored.trimmed, clock)
    }
    // What it stands for is nowhere else: whoever went on after it would lack that for good.
    if stored.endsBeforeBase, stored.end == position {
      guard Planted.isActive(.basePassed) else { throw RemoteError.isBeforeBase(position, clock) }
      return try page(of: space, after: passed(position + 1, in: space), excluding: excluded)
    }
    let next = SpaceCursor(
      epoch: epoch, position: stored.end, chain: stored.lastChain ?? stored.chainBefore)
    return PulledPage(
      operations: try stored.operations.map { try SyncOperation(bytes: $0) }, cursor: next.cursor,
      hasMore: stored.end < stored.head, now: clock.now)
  }

  /// For a planted bug.
  private func passed(_ base: UInt64, in space: SpaceName) throws -> RemoteCursor {
    let page = try store.page(
      of: space, after: base, excluding: nil, contentBytes: 0, operations: 0)
    return SpaceCursor(
      epoch: page.standing.epoch, position: base, chain: page.chainBefore
    ).cursor
  }
}

extension LeaseRenewal {
  /// What has to be written down before a page is given out, with ``SpaceService/settle(_:)``.
  /// `nil` where nothing has.
  ///
  /// - Parameters:
  ///   - replica: who asked for it.
  ///   - cursor: after which it asked.
  init?(
    of replica: ReplicaID?, after cursor: RemoteCursor?, given page: PulledPage,
    in space: SpaceName, by member: MemberName?, at service: SpaceService
  ) throws {
    let isEmpty = !page.hasMore && SpaceCursor(page.cursor)?.position == 0
    guard let replica, !isEmpty else { return nil }
    // INV-13: nobody says for another one how far it is.
    let store = service.store
    guard try AuthorRecord.canRead(store.authorRecord(of: replica, in: space), by: member)
    else { return nil }
    let renewal = service.leases.renew(
      replica, at: cursor.flatMap { SpaceCursor($0)?.position } ?? 0, in: space, by: member,
      try store.lease(of: replica, in: space), now: service.clock.now)
    guard let renewal else { return nil }
    self = renewal
  }
}

extension SpaceStore {
  /// - Throws: ``RemoteError`` with `cursor-unknown` when the space's history doesn't go on after a
  ///   cursor.
  func check(_ cursor: RemoteCursor, of space: SpaceName, _ clock: ServerClock) throws {
    guard let place = SpaceCursor(cursor),
      place.isKnown(
        to: try page(
          of: space, after: place.position, excluding: nil, contentBytes: 0, operations: 0))
    else { throw RemoteError.unknownCursor(clock) }
  }
}

extension SpaceCursor {
  /// - Parameter page: what a store has after the cursor's position.
  fileprivate func isKnown(to page: StoredPage) -> Bool {
    let known = SpaceCursor(
      epoch: page.standing.epoch, position: position, chain: page.chainBefore)
    return position <= page.head && self == known
  }
}

extension RemoteError {
  fileprivate static func isBeforeBase(_ position: UInt64, _ clock: ServerClock) -> RemoteError {
    RemoteError(
      .snapshotNeeded,
      "a base follows position \(position), and stands for operations that are served nowhere; load "
        + "the snapshot that the greeting names, and pull after it",
      now: clock.now)
  }

  fileprivate static func unknownCursor(_ clock: ServerClock) -> RemoteError {
    RemoteError(
      .cursorUnknown,
      "the cursor is not of this server's history, which was wiped or restored; pull without one",
      now: clock.now)
  }

  /// INV-12: whoever the horizon did not wait for is told to begin with the snapshot.
  fileprivate static func trimmed(
    _ position: UInt64, _ trimmed: UInt64, _ clock: ServerClock
  ) -> RemoteError {
    RemoteError(
      .snapshotNeeded,
      "operations up to \(trimmed) are served no more, and the pull was after \(position); load "
        + "the snapshot that the greeting names, and pull after it",
      now: clock.now)
  }
}
#endif
