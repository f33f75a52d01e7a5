import TernCore
import TernDatabase

/// Takes from the log what every remote holds and nobody here asks for any more.
///
/// Of each author the newest operation that all remotes hold stays: a remote is asked to confirm
/// that of this replica, and times go on from there. So does what waits for an upgrade or a clock.
struct LogTrim {
  private let transaction: StoreTransaction
  private let retention: Duration

  /// How many operations of an author one transaction looks at.
  private static let step = 10_000

  init(_ transaction: StoreTransaction, retention: Duration) {
    self.transaction = transaction
    self.retention = retention
  }

  /// Whether the log has anything that is old enough.
  func hasOld() throws -> Bool {
    let kept = try firstKeptMilliseconds()
    for index in transaction.authors.ids.indices {
      let author = try transaction.authorTable.row(UInt32(index))
      let first = author.trimmed + 1
      guard first <= author.merged else { continue }
      let operation = try transaction.log.operation(LogID(author: UInt32(index), sequence: first))
      if let operation, operation.envelope.time.milliseconds < kept { return true }
    }
    return false
  }

  func run(heldBy heads: VersionVector, at remoteID: String) throws {
    try save(heads, of: remoteID)
    let kept = try firstKeptMilliseconds()
    for index in transaction.authors.ids.indices {
      try trim(UInt32(index), before: kept)
    }
  }

  private func firstKeptMilliseconds() throws -> Int64 {
    try transaction.clock.milliseconds() - retention.milliseconds
  }

  private func save(_ heads: VersionVector, of remoteID: String) throws {
    let table = transaction.tables.remoteHead
    let delete = try transaction.statement("DELETE FROM \(table) WHERE remote = ?")
    delete.bind(1, copy: .string(remoteID))
    try delete.run()
    let insert = try transaction.statement(
      "INSERT INTO \(table) (remote, author, sequence) VALUES (?, ?, ?)")
    for (index, id) in transaction.authors.ids.enumerated() where heads[id] > 0 {
      insert.bind(1, copy: .string(remoteID))
      insert.bind(2, Int64(index))
      // SQLite would take what nobody can have made for less than nothing.
      insert.bind(3, raw: min(heads[id], VersionVector.maximumSequence))
      try insert.run()
    }
  }

  private func trim(_ author: UInt32, before milliseconds: Int64) throws {
    var row = try transaction.authorTable.row(author)
    let limit = try min(
      heldByAll(author), row.merged, transaction.waiting.firstSequence(of: author) ?? .max)
    guard limit > row.trimmed + 1 else { return }
    guard let last = try lastOld(author, row.trimmed + 1...limit - 1, before: milliseconds) else {
      return
    }
    let delete = try transaction.statement(
      """
      DELETE FROM \(transaction.tables.log) WHERE id > ? AND id <= ?
      AND id NOT IN (SELECT id FROM \(transaction.tables.waiting))
      """)
    delete.bind(1, LogID(author: author, sequence: row.trimmed).rawValue)
    delete.bind(2, LogID(author: author, sequence: last.sequence).rawValue)
    try delete.run()
    if author == 0 { try transaction.migrated.forget(upTo: last.sequence) }
    (row.trimmed, row.trimmedTime) = (last.sequence, last.time)
    try transaction.authorTable.saveTrimmed(row, of: author)
  }

  /// The last of an author's operations that every remote holds.
  private func heldByAll(_ author: UInt32) throws -> UInt64 {
    let select = try transaction.statement(
      """
      SELECT min(ifnull((SELECT sequence FROM \(transaction.tables.remoteHead)
        WHERE remote = r.id AND author = ?), 0))
      FROM (SELECT id FROM \(transaction.tables.remote)
        UNION SELECT remote FROM \(transaction.tables.remoteHead)
        UNION SELECT remote FROM \(transaction.tables.offer)
          WHERE remote NOT IN (SELECT remote FROM \(transaction.tables.forgotten))) AS r
      """)
    select.bind(1, Int64(author))
    defer { select.reset() }
    return try select.step() ? select.raw(0) : 0
  }

  /// The last operation that is old enough and ends its group.
  private func lastOld(
    _ author: UInt32, _ sequences: ClosedRange<UInt64>, before milliseconds: Int64
  ) throws -> SyncOperation.Envelope? {
    let select = try transaction.statement(
      "SELECT bytes FROM \(transaction.tables.log) WHERE id >= ? AND id <= ? "
        + "ORDER BY id LIMIT \(Self.step)")
    select.bind(1, LogID(author: author, sequence: sequences.lowerBound).rawValue)
    select.bind(2, LogID(author: author, sequence: sequences.upperBound).rawValue)
    defer { select.reset() }
    var last: SyncOperation.Envelope?
    while try select.step() {
      let envelope = try SyncOperation.parse(select.blob(0)).0
      if envelope.time.milliseconds >= milliseconds { break }
      if !envelope.continues { last = envelope }
    }
    return last
  }
}
