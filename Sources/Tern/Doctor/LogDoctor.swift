import TernCore
import TernDatabase

/// Reads the whole log once, in its order.
///
/// Of each author the operations behind the trimmed ones are there without a hole, with times that
/// increase, in whole groups, and can be read or are put aside.
final class LogDoctor {
  private let transaction: StoreTransaction
  private let findings: Findings
  private let written: WrittenValues
  private let rows: [AuthorRow]

  /// Where the scan is.
  private var author: UInt32 = 0
  private var next: UInt64 = 1
  /// Of the operation before; `nil` where that is not known.
  private var last: (time: HybridTime, continues: Bool)?

  init(_ transaction: StoreTransaction, _ findings: Findings, _ noted: [NotedKeys]) throws {
    self.transaction = transaction
    self.findings = findings
    written = try WrittenValues(transaction, findings, noted)
    rows = try transaction.authors.ids.indices.map { try transaction.authorTable.row(UInt32($0)) }
  }

  func run() throws {
    let scan = try transaction.statement(
      "SELECT id, bytes FROM \(transaction.tables.log) ORDER BY id")
    defer { scan.reset() }
    begin(0)
    while try scan.step() {
      let id = LogID(rawValue: scan.int64(0))
      guard id.rawValue > 0, Int(id.author) < rows.count, id.sequence > 0 else {
        try findings.add(.logBeyond, "operation \(id.rawValue) is of nobody who is known")
        continue
      }
      while author < id.author {
        try end()
        begin(author + 1)
      }
      try look(at: id, scan.blob(1))
    }
    while Int(author) < rows.count {
      try end()
      if Int(author) + 1 == rows.count { break }
      begin(author + 1)
    }
  }

  private func place(_ sequence: UInt64) -> DatabaseFinding.Place {
    .init(author: transaction.authors.ids[Int(author)], sequence: sequence)
  }

  // MARK: - An author

  private func begin(_ author: UInt32) {
    self.author = author
    let row = rows[Int(author)]
    next = row.trimmed + 1
    last = row.trimmed > 0 ? (row.trimmedTime, false) : (.zero, false)
  }

  private func end() throws {
    let row = rows[Int(author)]
    if next <= row.stored { try lacks(row.stored) }
    // What is merged ends a group, and what is not has not ended.
    if let last, row.stored > row.trimmed, last.time != row.time {
      try findings.add(
        .logTime, "its last operation has another time than is remembered", at: place(row.stored))
    }
  }

  private func lacks(_ sequence: UInt64) throws {
    try findings.add(
      .logGap, "the log lacks operations \(next) to \(sequence), which it acknowledged",
      at: place(next))
    last = nil
    next = sequence + 1
  }

  // MARK: - An operation

  private func look(at id: LogID, _ bytes: UnsafeRawBufferPointer) throws {
    let (sequence, row) = (id.sequence, rows[Int(author)])
    guard sequence <= row.stored else {
      return try findings.add(
        .logBeyond, "the operation is behind the last one, \(row.stored), that was taken",
        at: place(sequence))
    }
    let isTrimmed = sequence <= row.trimmed
    let isAside = try transaction.isWaiting(id)
    // What was trimmed stays in the log while something of it waits, and can stay behind it.
    if !isTrimmed {
      if sequence > next { try lacks(sequence - 1) }
      next = sequence + 1
    }
    let operation: SyncOperation
    do throws(WireError) {
      operation = try SyncOperation(bytes: Array(bytes))
    } catch {
      last = isTrimmed ? last : nil
      return try findings.add(
        .logDamaged, "the operation cannot be read: \(error)", at: place(sequence))
    }
    let envelope = operation.envelope
    if envelope.replica != transaction.authors.ids[Int(author)] || envelope.sequence != sequence {
      try findings.add(
        .logMismatch,
        "it says of itself that it is operation \(envelope.sequence) of \(envelope.replica)",
        at: place(sequence))
    }
    if !isTrimmed { try follow(envelope, row) }
    if let error = operation.bodyError() {
      if isAside { return }
      return try findings.add(
        .logBody, "what it holds cannot be read, and it is not put aside: \(error)",
        at: place(sequence))
    }
    if !isAside { try written.check(operation, id) }
  }

  /// Whether it can come behind the one before it.
  private func follow(_ envelope: SyncOperation.Envelope, _ row: AuthorRow) throws {
    let sequence = next - 1
    if let last {
      let isInOrder = last.continues ? envelope.time == last.time : envelope.time > last.time
      if !isInOrder {
        try findings.add(
          .logTime,
          last.continues
            ? "it goes on with a group and has another time"
            : "its time is not later than that of the operation before", at: place(sequence))
      }
    }
    let isOpen = sequence == row.merged ? false : sequence > row.merged ? true : envelope.continues
    if envelope.continues != isOpen {
      try findings.add(
        .logGroup,
        envelope.continues
          ? "it is merged, and the rest of its group is not here"
          : "its group is whole and is not merged", at: place(sequence))
    }
    last = (envelope.time, envelope.continues)
  }
}
