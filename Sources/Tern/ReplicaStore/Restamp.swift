import TernCore
import TernDatabase

/// Gives this replica's operations that no remote holds, and whose times are ahead of the remote's
/// clock, new times, in the log and wherever the state carries them.
///
/// No winner changes. What is given a new time is later than everything of others that is merged
/// here, and with its new time it still is; operations that may have lost to others keep theirs.
/// Times increase with the sequence, so those that get new ones are the last ones.
struct Restamp {
  private let transaction: StoreTransaction

  init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  func run(after accepted: UInt64, at remoteID: String, nowMilliseconds: Int64) throws {
    var own = transaction.authorTable.own
    var kept = try min(max(accepted, transaction.remotes.lastFixed(at: remoteID)), own.stored)
    // A push may end within a group, which has one time.
    while try transaction.log.operation(LogID(author: 0, sequence: kept))?.envelope.continues
      ?? false
    {
      kept += 1
    }
    guard let first = try firstAhead(kept + 1, own.stored, of: nowMilliseconds) else { return }
    var latest = try latestKeptTime(first - 1)
    var group: (old: HybridTime, new: HybridTime)?
    for sequence in first...own.stored {
      let id = LogID(author: 0, sequence: sequence)
      guard let operation = try transaction.log.operation(id) else {
        throw ReplicaError(.damaged, "the log lacks an operation that no remote holds")
      }
      let old = operation.envelope.time
      if group?.old != old {
        latest = latest.next(atMilliseconds: nowMilliseconds)
        group = (old, latest)
      }
      try rewrite(operation.restamped(latest), id: id)
      try restampRows(of: operation, from: old, to: latest)
    }
    own.time = latest
    try transaction.authorTable.saveOwn(own)
    try transaction.held.wakeAll()
    transaction.clock.lastTime = latest
    try transaction.clock.save()
  }

  private func firstAhead(_ first: UInt64, _ last: UInt64, of nowMilliseconds: Int64) throws
    -> UInt64?
  {
    let limit = nowMilliseconds + ClockLimit.toleratedMilliseconds
    // Later than that clock too, where the remote took it while the clock was ahead.
    let others = try latestTimeOfOthers()
    var sequence = first
    while sequence <= last {
      let operation = try transaction.log.operation(LogID(author: 0, sequence: sequence))
      if let time = operation?.envelope.time, time.milliseconds > limit, time > others {
        return sequence
      }
      sequence += 1
    }
    return nil
  }

  /// The greatest time that stays: of what is merged from others and of the own operations before.
  private func latestKeptTime(_ kept: UInt64) throws -> HybridTime {
    let others = try latestTimeOfOthers()
    let own = try transaction.log.operation(LogID(author: 0, sequence: kept))?.envelope.time
    return max(others, own ?? .zero)
  }

  /// The greatest time of others that is in the state.
  private func latestTimeOfOthers() throws -> HybridTime {
    var latest = HybridTime.zero
    for index in transaction.authors.ids.indices.dropFirst() {
      let author = UInt32(index)
      guard let first = try transaction.waiting.firstFuture(of: author) else {
        let row = try transaction.authorTable.row(author)
        // The beginning of a group is in no state, and may be of any time.
        if row.merged > 0 { latest = max(latest, try transaction.log.time(ofMerged: author, row)) }
        continue
      }
      let before = try transaction.log.operation(LogID(author: author, sequence: first - 1))
      latest = max(latest, before?.envelope.time ?? .zero)
    }
    return latest
  }

  private func rewrite(_ operation: SyncOperation, id: LogID) throws {
    let statement = try transaction.statement(
      "UPDATE \(transaction.tables.log) SET bytes = ? WHERE id = ?")
    try operation.bytes.withUnsafeBytes { bytes in
      statement.bind(1, blob: bytes)
      statement.bind(2, id.rawValue)
      try statement.run()
    }
  }

  private func restampRows(of operation: SyncOperation, from old: HybridTime, to new: HybridTime)
    throws
  {
    var row = BodyRow()
    let (old, new) = (Stamp(time: old, author: 0), Stamp(time: new, author: 0))
    try operation.forEachBlock { block, reader in
      let sql = transaction.sql.first { $0.shape.isNamed(block.table) }
      while try reader.nextRow(&row, of: block) {
        guard let sql else { continue }
        let key = row.key.compactMap(\.value)
        let state = try transaction.states.state(of: key, sql)
        guard let changed = state?.restamped(from: old, to: new) else { continue }
        try transaction.states.put(changed, of: key, sql)
      }
    }
  }
}

extension RowState {
  /// The state with one stamp replaced, or `nil` where it does not carry it.
  func restamped(from old: Stamp, to new: Stamp) -> RowState? {
    var state = self
    if state.stamp == old { state.stamp = new }
    for index in state.cells.indices {
      switch state.cells[index].content {
      case .stamped(old): state.cells[index].content = .stamped(new)
      case .counter(let sum, old): state.cells[index].content = .counter(sum, new)
      case .extreme(let value, old): state.cells[index].content = .extreme(value, new)
      case .set(let elements, old): state.cells[index].content = .set(elements, new)
      case .text(let cell, old): state.cells[index].content = .text(cell, new)
      case .presence(let presence):
        state.cells[index].content = .presence(presence.restamped(from: old, to: new))
      default: break
      }
    }
    return state == self ? nil : state
  }
}
