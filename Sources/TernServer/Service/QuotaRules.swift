#if Server
@_spi(Rehearsal) import TernCore

/// What a space may store, and a member of it. Shares are fair: no space fills the disk for all.
struct QuotaRules {
  let space: LockedSpace
  private var rows: any SpaceTransaction { space.rows }
  private var limits: ServerLimits { space.limits }

  /// What a space may store.
  func most(_ usage: SpaceUsage) -> CountedOperations {
    let most = SpaceQuota.range.upperBound
    return CountedOperations(
      operations: min(usage.quota.operations ?? limits.operationsPerSpace, most),
      bytes: min(usage.quota.bytes ?? limits.bytesPerSpace, most))
  }

  /// - Throws: ``RemoteError`` with `space-full`.
  func check(_ operations: [NewOperation], by member: MemberName?) throws {
    let usage = try rows.usage
    let most = most(usage)
    var new = CountedOperations(operations)
    if Planted.isActive(.quotaPacked) {
      new.bytes = OperationBatch(operations.map(\.operation)).encoded().count
    }
    var used = usage.counted
    let half = CountedOperations(operations: most.operations / 2, bytes: most.bytes / 2)
    // Only then it matters what of it is uploads.
    if !(used + new).fits(in: half) { used.bytes = try bytesWithoutUploads(usage) }
    guard new.operations <= most.operations - used.operations else {
      throw full(
        "operationsPerSpace: the space stores \(used.operations) operations of the "
          + "\(most.operations) that it may")
    }
    guard new.bytes <= most.bytes - used.bytes else { throw fullOfBytes(used.bytes, most) }
    try checkShare(of: most, used, new, by: member, usage.quota.share)
  }

  /// Uploads keep no operation out: a member could stop the space with one that it never completes.
  private func bytesWithoutUploads(_ usage: SpaceUsage) throws -> Int {
    let snapshots = try rows.snapshots().filter(\.isComplete).reduce(0) { $0 + $1.bytes }
    return try rows.counted.bytes - usage.banned.bytes + snapshots
  }

  /// A member leaves the others half of what it finds, unless an operator gave members a part of
  /// the quota. Who shares the space with nobody has all of it.
  ///
  /// - Throws: ``RemoteError`` with `space-full`.
  private func checkShare(
    of most: CountedOperations, _ used: CountedOperations, _ new: CountedOperations,
    by member: MemberName?, _ percent: Int?
  ) throws {
    func part(_ number: Int) -> Int { number * (percent ?? 50) / 100 }
    let least = CountedOperations(operations: part(most.operations), bytes: part(most.bytes))
    // Whoever has what of it, nobody has more than that.
    if (used + new).fits(in: least) { return }
    let others = try members(orClaiming: member != nil).filter { $0 != member }
    guard !others.isEmpty, try !space.isRefilled else { return }
    let own = try rows.counted(of: member)
    let left = most - used + own
    let share =
      percent == nil
      ? CountedOperations(operations: left.operations / 2, bytes: left.bytes / 2)
      : least
    guard !(own + new).fits(in: share) else { return }
    let isBytes = own.bytes + new.bytes > share.bytes
    throw RemoteError(
      .spaceFull,
      (isBytes
        ? "bytesPerSpace: one member may store \(share.bytes) bytes here at the moment, and has "
          + "\(own.bytes)"
        : "operationsPerSpace: one member may store \(share.operations) operations here at the "
          + "moment, and has \(own.operations)")
        + "; trimming frees room after a snapshot, and an operator gives members more with 'tern "
        + "space quota --share'", now: space.clock.now)
  }

  /// Two of those who share the space. Where no token names anybody, an authorizer of the app's
  /// does: then those count who have claimed a replica id.
  private func members(orClaiming: Bool) throws -> Set<MemberName> {
    let named = try rows.members(atMost: 2, withClaims: false)
    guard named.isEmpty, orClaiming else { return named }
    return try rows.members(atMost: 2, withClaims: true)
  }

  /// A snapshot lets a full space go on: one may have twice the bytes of the newest that is
  /// complete, or, before the first, of the operations that it is to stand for. Where there is room
  /// it may have as many as those together, and otherwise leaves other members half of the room.
  ///
  /// - Throws: ``RemoteError`` with `space-full`.
  func check(part bytes: Int, of snapshot: StoredSnapshot) throws {
    let usage = try rows.usage
    let (most, used) = (most(usage), usage.counted.bytes)
    let room = most.bytes - used
    if bytes <= room {
      let isShared = try members(orClaiming: true).count > 1 && !space.isRefilled
      guard isShared, snapshot.bytes + 2 * bytes > room else { return }
    }
    let snapshots = try rows.snapshots()
    let uploads = snapshots.filter { !$0.isComplete }.reduce(0) { $0 + $1.bytes }
    let newest = snapshots.last(where: \.isComplete)?.bytes
    let together = bytes <= room ? try (newest ?? 0) + rows.counted.bytes : 0
    let largest = min(max(2 * (newest ?? usage.bytes - uploads), together), most.bytes)
    guard snapshot.bytes + bytes > largest else { return }
    // Without others it would have had the room.
    guard bytes <= room else { throw fullOfBytes(used, most) }
    throw shareExceeded(by: snapshot, largest: max(largest, (room + snapshot.bytes) / 2))
  }

  /// A base in an empty space stands for nothing that is stored, so that alone the operator's word
  /// gives it more.
  private func shareExceeded(by snapshot: StoredSnapshot, largest: Int) -> RemoteError {
    RemoteError(
      .spaceFull,
      "bytesPerSpace: one upload may have about \(largest) bytes here at the moment, as other members "
        + "share the space; "
        + (snapshot.isBase
          ? "after a loss the server's operator lifts that: 'tern space refill --data FILE SPACE'"
          : "an operator gives the space more with 'tern space quota'"),
      now: space.clock.now)
  }

  private func fullOfBytes(_ used: Int, _ most: CountedOperations) -> RemoteError {
    full("bytesPerSpace: the space stores \(used) bytes of the \(most.bytes) that it may")
  }

  private func full(_ what: String) -> RemoteError {
    RemoteError(
      .spaceFull,
      "\(what); trimming frees room after a snapshot, and an operator gives it more with 'tern "
        + "space quota'", now: space.clock.now)
  }

  /// - Throws: ``RemoteError`` with `space-full`.
  func check(for back: CountedOperations, _ usage: SpaceUsage) throws {
    guard back != CountedOperations() else { return }
    let (most, after) = (most(usage), usage.counted + back)
    guard !after.fits(in: most) else { return }
    throw RemoteError(
      .spaceFull,
      "with what comes back the space would store \(after.bytes) bytes of \(most.bytes) and "
        + "\(after.operations) operations of \(most.operations), and take no more; raise its quota "
        + "with 'tern space quota', or say --over-quota")
  }
}
#endif
