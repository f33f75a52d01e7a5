#if Server
import TernCore

/// What a space still serves after ``SpaceService/restore(_:overQuota:)``.
public struct RestoredSpace: Hashable, Sendable {
  /// Operations after here are served again.
  public var trimmed: UInt64
  /// How many of them had been trimmed.
  public var operations: UInt64
  /// The snapshots that are back, by id.
  public var snapshots: [String]
  /// What it stores with all that, of what it may.
  public var bytes: Int
  public var mostBytes: Int
}

/// What was trimmed, and what gave way to newer snapshots, can be brought back for a while.
extension SpaceService {
  /// Brings back what of a space was trimmed within ``ServerLimits/trimmedAge``, and the snapshots
  /// that gave way, durably. For as long nothing of it is trimmed. What is newer stays as it is.
  ///
  /// Reads the lengths of all that comes back, in one transaction.
  /// - Parameter overQuota: whether what comes back may be more than the space has room for.
  ///   Nothing can be pushed then until it has.
  /// - Throws: ``RemoteError`` with `not-found` where there is no such space, `space-full` where it
  ///   has no room for it; the store's errors.
  public func restore(_ space: SpaceName, overQuota: Bool = false) throws -> RestoredSpace {
    try store.update(space) { transaction in
      try checkIsThere(space, transaction)
      let (before, usage) = (try transaction.trimmed, try transaction.usage)
      let back = try transaction.untrim()
      let trimmed = back.trimmed
      try transaction.removeMarks(before: .max, .trimmed)
      // One from before that is followed by nothing here.
      let snapshots = try transaction.droppedSnapshots().filter {
        try $0.position >= trimmed && transaction.bringBack($0)
      }
      var counted = back.counted
      counted.bytes += snapshots.reduce(0) { $0 + $1.bytes }
      if !overQuota { try checkRoom(for: counted, usage) }
      if before > trimmed || !snapshots.isEmpty {
        var deadlines = try transaction.deadlines
        deadlines.trimming = clock.nowMilliseconds + limits.trimmedAge.milliseconds
        try transaction.set(deadlines)
      }
      return RestoredSpace(
        trimmed: trimmed, operations: before - trimmed, snapshots: snapshots.map(\.id),
        bytes: usage.counted.bytes + counted.bytes, mostBytes: most(usage).bytes)
    }
  }

  /// Trims a space again as it was before ``restore(_:overQuota:)``, durably.
  ///
  /// - Throws: ``RemoteError`` with `not-found` where there is no such space; the store's errors.
  public func endRestore(_ space: SpaceName) throws {
    try store.update(space) { transaction in
      try checkIsThere(space, transaction)
      var deadlines = try transaction.deadlines
      deadlines.trimming = nil
      try transaction.set(deadlines)
    }
  }

  /// - Throws: ``RemoteError`` with `space-full`.
  private func checkRoom(for back: CountedOperations, _ usage: SpaceUsage) throws {
    guard back != CountedOperations() else { return }
    let (most, after) = (most(usage), usage.counted + back)
    guard !after.fits(in: most) else { return }
    throw RemoteError(
      .spaceFull,
      "with what comes back the space would store \(after.bytes) bytes of \(most.bytes) and "
        + "\(after.operations) operations of \(most.operations), and take no more; raise its quota "
        + "with 'tern space quota', or say --over-quota")
  }

  /// Whether it was asked for lately, so that nothing is trimmed.
  func isRestored(_ transaction: any SpaceTransaction) throws -> Bool {
    guard let until = try transaction.deadlines.trimming else { return false }
    let left = until - clock.nowMilliseconds
    return left > 0 && left <= limits.trimmedAge.milliseconds
  }

  /// Removes what was kept for as long as it may be. Returns whether there is more to do.
  func removeKept(_ transaction: any SpaceTransaction) throws -> Bool {
    let now = clock.nowMilliseconds
    // No quota counts them, so a member could fill the disk with them.
    let most = try transaction.usage.quota.bytes ?? limits.bytesPerSpace
    var bytes = 0
    for (index, var dropped) in try transaction.droppedSnapshots().enumerated() {
      if clockWatch.isSteady(clock), clock.isAhead(dropped.milliseconds) {
        dropped.milliseconds = now
        try transaction.update(dropped)
      }
      bytes += dropped.bytes
      guard
        index >= limits.droppedSnapshots || bytes > most
          || dropped.milliseconds <= now - limits.trimmedAge.milliseconds
      else { continue }
      try transaction.forget(dropped)
    }
    let old = try mark(.trimmed, transaction.trimmed, limits.trimmedAge, transaction)
    let releases = try transaction.releaseTrimmed(operations: limits.trimmedOperations)
    return try remove(through: old, transaction) || releases
  }

  private func remove(through position: UInt64, _ transaction: any SpaceTransaction) throws -> Bool
  {
    let trims = try transaction.removeTrimmed(
      through: position, operations: limits.trimmedOperations, contentBytes: limits.trimmedBytes)
    let drops = try transaction.removeDropped(contentBytes: limits.trimmedBytes)
    return trims || drops
  }

  // MARK: - The disk

  /// Removes some of what the space keeps that keeps most, in one short transaction, because the
  /// disk has no room for it. Returns that space; `nil` where nothing is kept.
  func giveUpKept() throws -> SpaceName? {
    guard let space = try store.spaceKeepingMost() else { return nil }
    let before = try store.usage(of: space).keptBytes
    try store.update(space) { transaction in
      try checkIsThere(space, transaction)
      for dropped in try transaction.droppedSnapshots() { try transaction.forget(dropped) }
      _ = try remove(through: transaction.trimmed, transaction)
    }
    givenUp.note(space)
    // In a damaged file there may be nothing behind the number.
    guard try store.usage(of: space).keptBytes < before else { return nil }
    return space
  }
}
#endif
