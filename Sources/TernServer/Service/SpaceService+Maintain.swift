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
      let retained = try mark(transaction)
      let before = try transaction.trimmed
      if let kept = try transaction.snapshots().first(where: \.isComplete)?.position {
        let horizon = alive.map(\.position).min() ?? kept
        let end = min(kept, Planted.isActive(.leaseIgnored) ? kept : horizon, retained)
        if end > before { try transaction.trim(through: end) }
      }
      let trims = try transaction.removeTrimmed(
        operations: limits.trimmedOperations, contentBytes: limits.trimmedBytes)
      let drops = try transaction.removeDropped(contentBytes: limits.trimmedBytes)
      if try trims || transaction.trimmed > before { try CrashPoint.reach(.serverBeforeTrim) }
      return (noted, trims || drops)
    }
    leases.remove(noted, in: space)
    return hasMore
  }

  /// Writes down that the space is where it is, now and then. Returns up to where everything was
  /// stored longer ago than the retention.
  ///
  /// Few marks are enough: a late one keeps operations a little longer.
  private func mark(_ transaction: any SpaceTransaction) throws -> UInt64 {
    let (now, retention) = (clock.nowMilliseconds, limits.retention.milliseconds)
    guard retention > 0 else { return transaction.position }
    let marks = try correctedMarks(transaction, now)
    let newest = marks.last
    if transaction.position > newest?.position ?? 0,
      now - (newest?.milliseconds ?? .min / 2) >= retention / 32
    {
      try transaction.add(PositionMark(position: transaction.position, milliseconds: now))
    }
    guard let old = marks.last(where: { $0.milliseconds <= now - retention }) else { return 0 }
    if marks[0] != old { try transaction.removeMarks(before: old.position) }
    return old.position
  }

  /// The marks, of which one stands in place of those that were surely made while the clock was
  /// ahead. Those would keep the space from being marked, and trimmed, until their date.
  private func correctedMarks(_ transaction: any SpaceTransaction, _ now: Int64) throws
    -> [PositionMark]
  {
    var marks = try transaction.marks()
    guard clockWatch.isSteady(clock), let last = marks.last,
      marks.contains(where: { clock.isAhead($0.milliseconds) })
    else { return marks }
    marks.removeAll { clock.isAhead($0.milliseconds) }
    let time = max(now, marks.last?.milliseconds ?? now)
    marks.append(PositionMark(position: last.position, milliseconds: time))
    try transaction.removeMarks(before: last.position + 1)
    for mark in marks { try transaction.add(mark) }
    return marks
  }

  func dropOldUploads(_ transaction: any SpaceTransaction) throws {
    let oldest = clock.nowMilliseconds - limits.uploadAge.milliseconds
    for upload in try transaction.snapshots()
    where !upload.isComplete {
      if upload.touchedMilliseconds < oldest {
        try transaction.drop(upload.id)
      } else if clockWatch.isSteady(clock), clock.isAhead(upload.touchedMilliseconds) {
        var touched = upload
        touched.touchedMilliseconds = clock.nowMilliseconds
        try transaction.update(touched)
      }
    }
  }
}
#endif
