import TernCore
import TernDatabase

/// Issues this replica's operations that no remote accepted anew, on top of a loaded snapshot, since
/// they were written without what others have forgotten.
///
/// They keep their numbers, by which sets and texts know what they added, and their times, so that an
/// old write beats no newer one; but a delete is of now, since older ones may be forgotten already.
/// What they did to rows that are gone is left out, and goes to the inbox: merged as it was, it would
/// bring half a row back where the delete is forgotten, and none where it is not. A row that they
/// insert begins behind every life that was forgotten.
final class Reissue {
  private let transaction: StoreTransaction
  private let pass: MergePass
  private let losses: Losses
  private var rows: [RowName: Fate] = [:]
  /// Of the group that was issued last.
  private var time = HybridTime.zero
  private var isWithinGroup = false
  /// Row changes that were left out.
  private(set) var leftOut = 0

  private struct RowName: Hashable {
    let table: Int64
    let key: [UInt8]
  }

  /// What becomes of a row's changes.
  private enum Fate {
    case isGone
    /// How much later its lives are than they were written.
    case goesOn(Int64)
  }

  init(_ transaction: StoreTransaction, _ pass: MergePass) {
    self.transaction = transaction
    self.pass = pass
    losses = Losses(transaction)
  }

  func finish() throws { try losses.finish() }

  /// The operation as it is issued now; the ones before it are merged.
  func issued(_ operation: Operation) throws -> Operation {
    var envelope = operation.envelope
    if !isWithinGroup { time = try time(for: operation) }
    isWithinGroup = envelope.continues
    envelope.time = time
    var body = ByteWriter()
    try operation.forEachBlock { block, reader in
      try append(block, &reader, Stamp(time: envelope.time, author: 0), to: &body)
    }
    return Operation(envelope, body: body.bytes)
  }

  /// Later than that of the group before.
  private func time(for first: Operation) throws -> HybridTime {
    let following = time.next(atMilliseconds: 0)
    guard try hasDeletes(first) else { return max(first.envelope.time, following) }
    return max(
      transaction.lastTime.next(atMilliseconds: try transaction.clockMilliseconds()), following)
  }

  /// Whether the group that begins with an operation deletes any row.
  private func hasDeletes(_ first: Operation) throws -> Bool {
    var operation: Operation? = first
    while let part = operation {
      var row = BodyRow()
      var isAny = false
      try part.forEachBlock { block, reader in
        while try reader.nextRow(&row, of: block) { isAny = isAny || row.kind == .delete }
      }
      if isAny || !part.envelope.continues { return isAny }
      operation = try transaction.operation(
        LogID(author: 0, sequence: part.envelope.sequence + 1))
    }
    return false
  }

  private func append(
    _ block: BodyBlock, _ reader: inout BodyReader, _ stamp: Stamp, to body: inout ByteWriter
  ) throws {
    let found = try pass.merger(for: block)
    var row = BodyRow()
    var isOpen = false
    var start = reader.rest.offset
    while try reader.nextRow(&row, of: block) {
      let end = reader.rest.offset
      defer { start = end }
      var life = Int64(row.life)
      if let (merger, shape) = found, shape.holds(row.key) {
        switch try fate(of: row, merger) {
        case .goesOn(let delta): life += delta
        case .isGone:
          leftOut += 1
          try leaveOut(row, block, merger, stamp)
          continue
        }
      }
      if !isOpen { body.append(block: block) }
      isOpen = true
      body.append(row: row.kind, life: UInt32(life))
      let headerBytes = Self.headerBytes(row)
      body.append(
        raw: UnsafeRawBufferPointer(rebasing: reader.rest.buffer[start + headerBytes..<end]))
    }
    if isOpen { body.appendEndOfBlock() }
  }

  private static func headerBytes(_ row: BodyRow) -> Int {
    var header = ByteWriter()
    header.append(row: row.kind, life: row.life)
    return header.count
  }

  private func leaveOut(_ row: BodyRow, _ block: BodyBlock, _ merger: RowMerger, _ stamp: Stamp)
    throws
  {
    if row.kind == .delete { return }
    let state = try state(of: row, merger)
    // Whose delete it was is forgotten with it.
    let deletion = state?.presence?.deletion ?? state?.stamp
    try merger.keepLate(
      row, merger.shape.mapping(of: block), stamp,
      deletion: deletion ?? Stamp(time: transaction.horizon, author: 0), losses)
  }

  // MARK: - Rows

  private func fate(of row: BodyRow, _ merger: RowMerger) throws -> Fate {
    let name = RowName(table: merger.shape.id, key: Array(row.packedKey))
    switch (rows[name], row.kind) {
    case (.goesOn(let delta)?, _): return .goesOn(delta)
    // What was deleted and then inserted here is a row of its own.
    case (.isGone?, .insert), (nil, _): break
    case (.isGone?, _): return .isGone
    }
    let fate = decide(row, try state(of: row, merger))
    rows[name] = fate
    return fate
  }

  private func decide(_ row: BodyRow, _ state: RowState?) -> Fate {
    guard let state else {
      return row.kind == .insert ? .goesOn(Int64(transaction.firstLife) - Int64(row.life)) : .isGone
    }
    // Of the life that a change is of, or ends.
    let life = row.kind == .delete ? row.life - 1 : row.life
    // A delete that was not seen then is seen now, and no change brings the row back.
    return state.life > life || state.life == life && state.isDeleted ? .isGone : .goesOn(0)
  }

  private func state(of row: BodyRow, _ merger: RowMerger) throws -> RowState? {
    let read = try transaction.statement(merger.writer.sql.readState)
    for (index, value) in row.key.enumerated() { read.bind(Int32(index + 1), value) }
    defer { read.reset() }
    return try read.step() ? try transaction.state(in: read, from: 0) : nil
  }
}
