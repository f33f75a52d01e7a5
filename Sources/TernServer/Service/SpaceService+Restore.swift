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
    try access.update(space) { space in
      let (rows, quotas) = (space.rows, space.quotas)
      try space.ensureIsThere()
      let (before, usage) = (try rows.trimmed, try rows.usage)
      let back = try rows.untrim()
      let trimmed = back.trimmed
      try rows.removeMarks(before: .max, .trimmed)
      // One from before that is followed by nothing here.
      let snapshots = try rows.droppedSnapshots().filter {
        try $0.position >= trimmed && rows.bringBack($0)
      }
      var counted = back.counted
      counted.bytes += snapshots.reduce(0) { $0 + $1.bytes }
      if !overQuota { try quotas.check(for: counted, usage) }
      if before > trimmed || !snapshots.isEmpty {
        var deadlines = try rows.deadlines
        deadlines.trimming = clock.now(after: limits.trimmedAge)
        try rows.set(deadlines)
        try space.record(
          .restoreSpace, ["operations": "\(before - trimmed)", "snapshots": "\(snapshots.count)"])
      }
      return RestoredSpace(
        trimmed: trimmed, operations: before - trimmed, snapshots: snapshots.map(\.id),
        bytes: usage.counted.bytes + counted.bytes, mostBytes: quotas.most(usage).bytes)
    }
  }

  /// Trims a space again as it was before ``restore(_:overQuota:)``, durably.
  ///
  /// - Throws: ``RemoteError`` with `not-found` where there is no such space; the store's errors.
  public func endRestore(_ space: SpaceName) throws {
    try access.update(space) { space in
      try space.ensureIsThere()
      let rows = space.rows
      var deadlines = try rows.deadlines
      guard deadlines.trimming != nil else { return }
      deadlines.trimming = nil
      try rows.set(deadlines)
      try space.record(.endRestore)
    }
  }
}
#endif
