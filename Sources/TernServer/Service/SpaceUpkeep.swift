#if Server
import Foundation
@_spi(Rehearsal) import TernCore

/// What can wait: trimming, and letting go of what is kept for a while.
struct SpaceUpkeep {
  let space: LockedSpace
  private var rows: any SpaceTransaction { space.rows }
  private var limits: ServerLimits { space.limits }
  private var clock: ServerClock { space.clock }

  /// - Parameter noted: leases to be written down.
  /// - Returns: whether there is more to remove.
  func run(_ noted: [ReplicaID: Lease]) throws -> Bool {
    let alive = try space.leases.settle(noted)
    try dropOldUploads()
    let (age, before) = (limits.retention, try rows.trimmed)
    let retained = try mark(.stored, rows.position, age)
    if try !space.isRestored {
      let complete = try rows.snapshots().filter(\.isComplete)
      // More are there after a restore alone.
      for other in complete.dropLast(SnapshotIntake.keptSnapshots) {
        try rows.drop(other.id, keptFrom: clock.now)
      }
      let kept = complete.suffix(SnapshotIntake.keptSnapshots).first?.position ?? 0
      let horizon = alive.map(\.position).min() ?? kept
      let end = min(kept, Planted.isActive(.leaseIgnored) ? kept : horizon, retained)
      if end > before { try rows.trim(through: end) }
    }
    let removes = try removeKept()
    if try removes || rows.trimmed > before { try CrashPoint.reach(.serverBeforeTrim) }
    return removes
  }

  // MARK: - Marks

  /// Writes down where the space is, now and then. Returns up to where it was longer ago than
  /// `age`.
  ///
  /// Few marks are enough: a late one keeps operations a little longer.
  private func mark(
    _ kind: MarkKind, _ position: UInt64, _ age: Duration
  ) throws -> UInt64 {
    let (now, age) = (clock.now, age.milliseconds)
    guard age > 0 else { return position }
    let marks = try correctedMarks(kind, now)
    let newest = marks.last
    let isDue = newest.map { clock.age(of: $0.time) >= age / 32 } ?? true
    if isDue, position > newest?.position ?? 0 {
      try rows.add(PositionMark(position: position, time: now), kind)
    }
    guard let old = marks.last(where: { clock.age(of: $0.time) >= age }) else { return 0 }
    if marks[0] != old { try rows.removeMarks(before: old.position, kind) }
    return old.position
  }

  /// The marks, of which one stands in place of those that were surely made while the clock was
  /// ahead. Those would keep the space from being marked, and trimmed, until their date.
  private func correctedMarks(_ kind: MarkKind, _ now: Date) throws -> [PositionMark] {
    var marks = try rows.marks(kind)
    guard space.isSteady, let last = marks.last,
      marks.contains(where: { clock.isAhead($0.time) })
    else { return marks }
    marks.removeAll { clock.isAhead($0.time) }
    let time = max(now, marks.last?.time ?? now)
    marks.append(PositionMark(position: last.position, time: time))
    try rows.removeMarks(before: last.position + 1, kind)
    for mark in marks { try rows.add(mark, kind) }
    return marks
  }

  func dropOldUploads() throws {
    for upload in try rows.snapshots()
    where !upload.isComplete {
      if clock.age(of: upload.touched) > limits.uploadAge.milliseconds {
        try rows.drop(upload.id, keptFrom: nil)
      } else if space.isSteady, clock.isAhead(upload.touched) {
        var touched = upload
        touched.touched = clock.now
        try rows.update(touched)
      }
    }
  }

  // MARK: - What is kept

  /// Removes what was kept for as long as it may be. Returns whether there is more to do.
  private func removeKept() throws -> Bool {
    // No quota counts them, so a member could fill the disk with them.
    let most = try rows.usage.quota.bytes ?? limits.bytesPerSpace
    var bytes = 0
    for (index, var dropped) in try rows.droppedSnapshots().enumerated() {
      if space.isSteady, clock.isAhead(dropped.time) {
        dropped.time = clock.now
        try rows.update(dropped)
      }
      bytes += dropped.bytes
      guard
        index >= limits.droppedSnapshots || bytes > most
          || clock.age(of: dropped.time) >= limits.trimmedAge.milliseconds
      else { continue }
      try rows.forget(dropped)
    }
    let old = try mark(.trimmed, rows.trimmed, limits.trimmedAge)
    let releases = try rows.releaseTrimmed(operations: limits.trimmedOperations)
    return try remove(through: old) || releases
  }

  private func remove(through position: UInt64) throws -> Bool {
    let trims = try rows.removeTrimmed(
      through: position, operations: limits.trimmedOperations, contentBytes: limits.trimmedBytes)
    let drops = try rows.removeDropped(contentBytes: limits.trimmedBytes)
    return trims || drops
  }

  /// Because the disk has no room for it.
  func giveUpKept() throws {
    for dropped in try rows.droppedSnapshots() { try rows.forget(dropped) }
    _ = try remove(through: rows.trimmed)
  }
}
#endif
