#if Server
import TernCore

/// A server without its transport: what every request does, over any store.
///
/// Synchronous, so that a simulation can use it as a server in its own process. Calls can come from
/// any thread. Copies share their listeners.
///
/// Errors are ``RemoteError``s where the request is refused, otherwise the store's own.
public struct SpaceService: Sendable {
  public let store: any SpaceStore
  public let clock: ServerClock
  public let limits: ServerLimits
  public let disk: ServerDisk
  let board = HeadBoard()
  let leases = LeaseBook()
  let moved = MovedSpaces()
  let clockWatch = ClockWatch()
  /// Spaces that lost what was kept for ``restore(_:overQuota:)``, as the disk had no room.
  let givenUp = SpaceNames()
  /// Whether writing makes a space that doesn't exist. Not over HTTP, where a space without a token
  /// can only be one that was removed while the request was on its way.
  var makesSpaces = true
  /// Who calls as an operator. Each change through this copy and its ``AuditRecord`` are then one
  /// transaction; a call that changes nothing leaves none. `nil` records nothing.
  public var actor: AuditActor?

  var access: SpaceAccess {
    SpaceAccess(
      store: store, clock: clock, watch: clockWatch, limits: limits, makesSpaces: makesSpaces,
      actor: actor)
  }
  var reserve: DiskReserve { DiskReserve(disk: disk, access: access, givenUp: givenUp) }

  public init(
    store: any SpaceStore, clock: ServerClock, limits: ServerLimits = .init(),
    disk: ServerDisk = .unlimited
  ) {
    self.store = store
    self.clock = clock
    self.limits = limits
    self.disk = disk
  }

  /// Says where a space is; one that doesn't exist is at 0.
  ///
  /// - Parameters:
  ///   - replica: who greets, for whom nothing is claimed here: ``claim(_:by:in:)``.
  ///   - member: whose it says it is.
  public func greet(
    _ space: SpaceName, as replica: ReplicaID? = nil, by member: MemberName? = nil
  ) throws -> RemoteGreeting {
    let summary = try store.summary(of: space)
    try summary.standing.checkIsRead(space)
    let snapshot = summary.snapshot.map {
      RemoteSnapshot(
        id: $0.id, position: $0.position, cursor: $0.cursor, parts: $0.parts,
        heads: summary.snapshotHeads)
    }
    let records = try store.authorRecords(of: space)
    // What a replica said of its state before it was banned is no measure any more.
    let last = summary.state?.report
    let isBanned = last.map { records[$0.replica]?.bannedAfter != nil } ?? false
    var greeting = RemoteGreeting(
      epoch: summary.standing.epoch, now: clock.now, position: summary.position,
      heads: summary.heads, snapshot: snapshot, trimmed: summary.trimmed,
      wantsSnapshot: summary.wantsSnapshot(limits, clock),
      state: summary.state?.position == summary.position && !isBanned ? last : nil,
      wantsState: isBanned || summary.wantsState(limits, clock))
    let newest = summary.newestTime.date
    if clock.isAhead(newest) { greeting.newest = newest }
    greeting.authors = records.compactMapValues { RemoteAuthor($0) }
    // Devices that have more of a banned author begin anew from one.
    if snapshot == nil, summary.position > 0, summary.suspended == nil,
      summary.mayAskForSnapshot(limits, clock),
      records.values.contains(where: { $0.bannedAfter != nil })
    {
      greeting.wantsSnapshot = true
    }
    if let replica, let record = records[replica] {
      greeting.isClaimed = !record.isOpen(to: member)
    }
    return greeting
  }

  /// The head of a space, now and whenever it grows. A slow reader gets only the last.
  ///
  /// Growth is told by this service and its copies, and that by other processes only where a
  /// ``TernServerApplication`` runs.
  /// - Throws: ``RemoteError`` with `unavailable` when there are too many streams, and with
  ///   `cursor-unknown` as a pull after the cursor would.
  public func heads(
    of space: SpaceName, after cursor: RemoteCursor? = nil
  ) throws -> AsyncStream<SpaceHead> {
    try listen(to: space, after: cursor).heads
  }

  /// Tells whoever listens that this process has brought a space to a position, which is durable.
  func tell(_ head: SpaceHead, of space: SpaceName) {
    board.publish(head, of: space)
    if store.announces { moved.note(space) }
  }

  /// The listener is there before the position is read, so that no push falls between the two, and
  /// before the cursor is checked: what the space loses later is seen by what was told.
  ///
  /// - Throws: ``RemoteError`` with `cursor-unknown`, as a pull after the cursor would.
  func listen(
    to space: SpaceName, by grant: Grant? = nil, after cursor: RemoteCursor? = nil
  ) throws -> (listener: HeadListener, heads: AsyncStream<SpaceHead>) {
    let (listener, heads) = try board.listen(to: space, by: grant, limits: limits)
    do {
      listener.offer(try store.heads(of: [space])[space] ?? SpaceHead())
      if let cursor { try store.check(cursor, of: space, clock) }
    } catch {
      listener.finish()
      throw error
    }
    return (listener, heads)
  }
}
#endif
