#if Server
@_spi(Rehearsal) import TernCore

/// Shares are fair: no space fills the disk for all.
extension SpaceService {
  /// Sets what a space may store, durably. A server that has the file open goes by it from the next
  /// push on. What is stored stays, also where it is more.
  ///
  /// - Parameter quota: of numbers in ``SpaceQuota/range``; `nil` is the server's own limit.
  /// - Returns: whether there is such a space.
  /// - Throws: ``RemoteError`` with `malformed` for another number; the store's errors.
  @discardableResult
  public func setQuota(_ quota: SpaceQuota, of space: SpaceName) throws -> Bool {
    guard
      [quota.bytes, quota.operations, quota.authors].allSatisfy({
        SpaceQuota.range.contains($0 ?? 0)
      }), SpaceQuota.shares.contains(quota.share ?? 1)
    else {
      throw RemoteError(
        .malformed,
        "a quota is a number from 0 to \(SpaceQuota.range.upperBound), and a share one from 1 to 100"
      )
    }
    guard try store.spaces().contains(space) else { return false }
    try store.update(space) {
      try checkIsThere(space, $0)
      try $0.set(quota)
    }
    return true
  }

  /// What a space may store.
  func most(_ usage: SpaceUsage) -> CountedOperations {
    let most = SpaceQuota.range.upperBound
    return CountedOperations(
      operations: min(usage.quota.operations ?? limits.operationsPerSpace, most),
      bytes: min(usage.quota.bytes ?? limits.bytesPerSpace, most))
  }

  /// - Throws: ``RemoteError`` with `space-full`.
  func checkQuota(
    _ operations: [NewOperation], by member: MemberName?, _ transaction: any SpaceTransaction
  ) throws {
    let usage = try transaction.usage
    let most = most(usage)
    var new = CountedOperations(operations)
    if Planted.isActive(.quotaPacked) {
      new.bytes = OperationBatch(operations.map(\.operation)).encoded().count
    }
    var used = usage.counted
    let half = CountedOperations(operations: most.operations / 2, bytes: most.bytes / 2)
    // Only then it matters what of it is uploads.
    if !(used + new).fits(in: half) { used.bytes = try bytesWithoutUploads(usage, transaction) }
    guard new.operations <= most.operations - used.operations else {
      throw full(
        "operationsPerSpace: the space stores \(used.operations) operations of the "
          + "\(most.operations) that it may")
    }
    guard new.bytes <= most.bytes - used.bytes else { throw fullOfBytes(used.bytes, most) }
    try checkShare(of: most, used, new, by: member, usage.quota.share, transaction)
  }

  /// Uploads keep no operation out: a member could stop the space with one that it never completes.
  private func bytesWithoutUploads(_ usage: SpaceUsage, _ transaction: any SpaceTransaction) throws
    -> Int
  {
    let snapshots = try transaction.snapshots().filter(\.isComplete).reduce(0) { $0 + $1.bytes }
    return try transaction.counted.bytes - usage.banned.bytes + snapshots
  }

  /// A member leaves the others half of what it finds, unless an operator gave members a part of
  /// the quota. Who shares the space with nobody has all of it.
  ///
  /// - Throws: ``RemoteError`` with `space-full`.
  private func checkShare(
    of most: CountedOperations, _ used: CountedOperations, _ new: CountedOperations,
    by member: MemberName?, _ percent: Int?, _ transaction: any SpaceTransaction
  ) throws {
    func part(_ number: Int) -> Int { number * (percent ?? 50) / 100 }
    let least = CountedOperations(operations: part(most.operations), bytes: part(most.bytes))
    // Whoever has what of it, nobody has more than that.
    if (used + new).fits(in: least) { return }
    let others = try transaction.members(atMost: 2).filter { $0 != member }
    guard !others.isEmpty, try !isRefilled(transaction) else { return }
    let own = try transaction.counted(of: member)
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
        + "space quota --share'", nowMilliseconds: clock.nowMilliseconds)
  }

  /// A snapshot lets a full space go on: one may have twice the bytes of the newest that is
  /// complete, or, before the first, of the operations that it is to stand for. Where there is room
  /// it may have as many as those together, and otherwise leaves other members half of the room.
  ///
  /// - Throws: ``RemoteError`` with `space-full`.
  func checkQuota(
    part bytes: Int, of snapshot: StoredSnapshot, _ transaction: any SpaceTransaction
  ) throws {
    let usage = try transaction.usage
    let (most, used) = (most(usage), usage.counted.bytes)
    let room = most.bytes - used
    if bytes <= room {
      let isShared = try transaction.members(atMost: 2).count > 1 && !isRefilled(transaction)
      guard isShared, snapshot.bytes + 2 * bytes > room else { return }
    }
    let snapshots = try transaction.snapshots()
    let uploads = snapshots.filter { !$0.isComplete }.reduce(0) { $0 + $1.bytes }
    let newest = snapshots.last(where: \.isComplete)?.bytes
    let together = bytes <= room ? try (newest ?? 0) + transaction.counted.bytes : 0
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
      nowMilliseconds: clock.nowMilliseconds)
  }

  private func fullOfBytes(_ used: Int, _ most: CountedOperations) -> RemoteError {
    full("bytesPerSpace: the space stores \(used) bytes of the \(most.bytes) that it may")
  }

  private func full(_ what: String) -> RemoteError {
    RemoteError(
      .spaceFull,
      "\(what); trimming frees room after a snapshot, and an operator gives it more with 'tern "
        + "space quota'", nowMilliseconds: clock.nowMilliseconds)
  }

  // MARK: - The disk

  /// What of the disk's reserve is always left, for the log of what removes.
  private var logReserve: Int { limits.diskReserveBytes / 4 }

  /// Why nothing new is stored at the moment; `nil` while there is room.
  ///
  /// Pages of the file that nothing uses are room too: what was removed leaves them.
  package func shortage(adding bytes: Int = 0) throws -> String? {
    guard let free = disk.freeBytes else { return nil }
    let reserve = limits.diskReserveBytes
    if free >= reserve, bytes <= free - reserve { return nil }
    let reusable = try store.reusableBytes()
    let hasLogRoom = free >= logReserve && bytes <= free - logReserve
    if hasLogRoom, bytes <= free + reusable - reserve { return nil }
    return "diskReserveBytes: the disk has \(free) bytes free, and \(reserve) are kept free"
  }

  /// - Throws: ``RemoteError`` with `unavailable`, without a time: a device then goes on pulling.
  func checkDisk(adding bytes: Int) throws {
    // A few short transactions: what is left to remove goes with the next requests.
    for _ in 0..<4 {
      guard try shortage(adding: bytes) != nil, (try? giveUpKept()) != nil else { break }
    }
    guard let shortage = try shortage(adding: bytes) else { return }
    throw RemoteError(.unavailable, "\(shortage); pull meanwhile, and push again later")
  }
}
#endif
