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
      })
    else {
      throw RemoteError(
        .malformed, "a quota is a number from 0 to \(SpaceQuota.range.upperBound)")
    }
    guard try store.spaces().contains(space) else { return false }
    try store.update(space) {
      try checkIsThere(space, $0)
      try $0.set(quota)
    }
    return true
  }

  /// - Throws: ``RemoteError`` with `space-full`.
  func checkQuota(_ operations: [NewOperation], _ transaction: any SpaceTransaction) throws {
    let usage = try transaction.usage
    let most = usage.quota.operations ?? limits.operationsPerSpace
    guard operations.count <= most - usage.operations else {
      throw full(
        "operationsPerSpace: the space stores \(usage.operations) operations of the \(most) that "
          + "it may")
    }
    let bytes = operations.reduce(0) { $0 + $1.operation.bytes.count }
    let room = (usage.quota.bytes ?? limits.bytesPerSpace) - usage.bytes
    guard bytes <= room else { throw fullOfBytes(usage) }
  }

  /// A snapshot lets a full space go on: one may have twice the bytes of the newest that is
  /// complete, or, before the first, of the operations that it is to stand for.
  ///
  /// - Throws: ``RemoteError`` with `space-full`.
  func checkQuota(
    part bytes: Int, of snapshot: StoredSnapshot, _ transaction: any SpaceTransaction
  ) throws {
    let usage = try transaction.usage
    let most = usage.quota.bytes ?? limits.bytesPerSpace
    if bytes <= most - usage.bytes { return }
    let snapshots = try transaction.snapshots()
    let uploads = snapshots.filter { !$0.isComplete }.reduce(0) { $0 + $1.bytes }
    let replaced = snapshots.last(where: \.isComplete)?.bytes ?? usage.bytes - uploads
    guard snapshot.bytes + bytes <= min(2 * replaced, most) else { throw fullOfBytes(usage) }
  }

  private func fullOfBytes(_ usage: SpaceUsage) -> RemoteError {
    full(
      "bytesPerSpace: the space stores \(usage.bytes) bytes of the "
        + "\(usage.quota.bytes ?? limits.bytesPerSpace) that it may")
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
