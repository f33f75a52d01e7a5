#if Server
import TernCore

/// What a space still serves after ``SpaceService/restore(_:)``.
public struct RestoredSpace: Hashable, Sendable {
  /// Operations after here are served again.
  public var trimmed: UInt64
  /// How many of them had been trimmed.
  public var operations: UInt64
  /// The snapshots that are back, by id.
  public var snapshots: [String]
}

/// What was trimmed, and what gave way to newer snapshots, can be brought back for a while.
extension SpaceService {
  /// Brings back what of a space was trimmed within ``ServerLimits/trimmedAge``, and the snapshots
  /// that gave way, durably. For as long nothing of it is trimmed. What is newer stays as it is.
  ///
  /// Reads the lengths of all that comes back, in one transaction.
  /// - Throws: ``RemoteError`` with `not-found` where there is no such space; the store's errors.
  public func restore(_ space: SpaceName) throws -> RestoredSpace {
    try checkIsThere(space)
    return try store.update(space) { transaction in
      let before = try transaction.trimmed
      let trimmed = try transaction.untrim()
      try transaction.removeMarks(before: .max, .trimmed)
      // One from before that is followed by nothing here.
      let snapshots = try transaction.droppedSnapshots().filter {
        try $0.position >= trimmed && transaction.bringBack($0.id)
      }
      if before > trimmed || !snapshots.isEmpty {
        var deadlines = try transaction.deadlines
        deadlines.trimming = clock.nowMilliseconds + limits.trimmedAge.milliseconds
        try transaction.set(deadlines)
      }
      return RestoredSpace(
        trimmed: trimmed, operations: before - trimmed, snapshots: snapshots.map(\.id))
    }
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
    for (index, dropped) in try transaction.droppedSnapshots().enumerated()
    where dropped.milliseconds <= now - limits.trimmedAge.milliseconds
      || index >= limits.droppedSnapshots
    { try transaction.forgetDropped(dropped.id) }
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
      for dropped in try transaction.droppedSnapshots() {
        try transaction.forgetDropped(dropped.id)
      }
      _ = try remove(through: transaction.trimmed, transaction)
    }
    givenUp.note(space)
    // In a damaged file there may be nothing behind the number.
    guard try store.usage(of: space).keptBytes < before else { return nil }
    return space
  }
}
#endif
