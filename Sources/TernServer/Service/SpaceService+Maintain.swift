#if Server
@_spi(Rehearsal) import TernCore

extension SpaceService {
  /// Does what can wait, in one short transaction: writes down leases, lets go of old uploads,
  /// trims what a snapshot stands for and every reader has, and removes the bytes of all that.
  ///
  /// To be called for every space now and then, an hour apart or so, as ``TernServerApplication``
  /// does; a space where nobody does is never trimmed but after an upload.
  /// - Returns: whether there is more to remove, so that it should be called again.
  public func maintain(_ space: SpaceName) throws -> Bool {
    let (noted, hasMore) = try store.update(space) { transaction in
      try checkRoom(transaction)
      // Under the space's lock, as what is written at once is.
      let noted = leases.waiting(in: space)
      let alive = try settleLeases(noted, in: transaction)
      try dropOldUploads(transaction)
      let (age, before) = (limits.retention, try transaction.trimmed)
      let retained = try mark(.stored, transaction.position, age, transaction)
      if try !isRestored(transaction) {
        let complete = try transaction.snapshots().filter(\.isComplete)
        // More are there after a restore alone.
        for other in complete.dropLast(Self.keptSnapshots) {
          try transaction.drop(other.id, keptFrom: clock.nowMilliseconds)
        }
        let kept = complete.suffix(Self.keptSnapshots).first?.position ?? 0
        let horizon = alive.map(\.position).min() ?? kept
        let end = min(kept, Planted.isActive(.leaseIgnored) ? kept : horizon, retained)
        if end > before { try transaction.trim(through: end) }
      }
      let removes = try removeKept(transaction)
      if try removes || transaction.trimmed > before { try CrashPoint.reach(.serverBeforeTrim) }
      return (noted, removes)
    }
    leases.remove(noted, in: space)
    return hasMore
  }

  /// Writes down where the space is, now and then. Returns up to where it was longer ago than
  /// `age`.
  ///
  /// Few marks are enough: a late one keeps operations a little longer.
  func mark(
    _ kind: MarkKind, _ position: UInt64, _ age: Duration, _ transaction: any SpaceTransaction
  ) throws -> UInt64 {
    let (now, age) = (clock.nowMilliseconds, age.milliseconds)
    guard age > 0 else { return position }
    let marks = try correctedMarks(kind, transaction, now)
    let newest = marks.last
    if position > newest?.position ?? 0, now - (newest?.milliseconds ?? .min / 2) >= age / 32 {
      try transaction.add(PositionMark(position: position, milliseconds: now), kind)
    }
    guard let old = marks.last(where: { $0.milliseconds <= now - age }) else { return 0 }
    if marks[0] != old { try transaction.removeMarks(before: old.position, kind) }
    return old.position
  }

  /// The marks, of which one stands in place of those that were surely made while the clock was
  /// ahead. Those would keep the space from being marked, and trimmed, until their date.
  private func correctedMarks(
    _ kind: MarkKind, _ transaction: any SpaceTransaction, _ now: Int64
  ) throws -> [PositionMark] {
    var marks = try transaction.marks(kind)
    guard clockWatch.isSteady(clock), let last = marks.last,
      marks.contains(where: { clock.isAhead($0.milliseconds) })
    else { return marks }
    marks.removeAll { clock.isAhead($0.milliseconds) }
    let time = max(now, marks.last?.milliseconds ?? now)
    marks.append(PositionMark(position: last.position, milliseconds: time))
    try transaction.removeMarks(before: last.position + 1, kind)
    for mark in marks { try transaction.add(mark, kind) }
    return marks
  }

  func dropOldUploads(_ transaction: any SpaceTransaction) throws {
    let oldest = clock.nowMilliseconds - limits.uploadAge.milliseconds
    for upload in try transaction.snapshots()
    where !upload.isComplete {
      if upload.touchedMilliseconds < oldest {
        try transaction.drop(upload.id, keptFrom: nil)
      } else if clockWatch.isSteady(clock), clock.isAhead(upload.touchedMilliseconds) {
        var touched = upload
        touched.touchedMilliseconds = clock.nowMilliseconds
        try transaction.update(touched)
      }
    }
  }
}
#endif
