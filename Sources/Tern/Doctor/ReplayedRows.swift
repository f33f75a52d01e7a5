import GRDB
import TernCore
import TernDatabase

/// The states that a log's operations make, in a database of their own that SQLite removes itself:
/// a million of them are not to be in memory.
struct ReplayedRows {
  private let transaction: StoreTransaction
  private let note: FastStatement
  private let order: FastStatement
  private let read: FastStatement
  private let put: FastStatement
  private let remove: FastStatement
  private let rest: FastStatement

  /// - Parameter db: of its own, in a transaction.
  init(_ db: Database, for transaction: StoreTransaction) throws {
    self.transaction = transaction
    try db.execute(
      sql: """
        CREATE TEMP TABLE turn (time INTEGER, id INTEGER, PRIMARY KEY (time, id)) WITHOUT ROWID;
        CREATE TEMP TABLE state (
          tbl INTEGER, key BLOB, life INTEGER, time INTEGER, author INTEGER, covered INTEGER,
          cells BLOB, PRIMARY KEY (tbl, key)
        ) WITHOUT ROWID
        """)
    note = try FastStatement(db, "INSERT INTO turn VALUES (?, ?)")
    order = try FastStatement(db, "SELECT id FROM turn ORDER BY time, id")
    read = try FastStatement(
      db, "SELECT life, time, author, covered, cells FROM state WHERE tbl = ? AND key = ?")
    put = try FastStatement(db, "INSERT OR REPLACE INTO state VALUES (?, ?, ?, ?, ?, ?, ?)")
    remove = try FastStatement(db, "DELETE FROM state WHERE tbl = ? AND key = ?")
    rest = try FastStatement(db, "SELECT key FROM state WHERE tbl = ?")
  }

  // MARK: - Operations

  func note(_ id: LogID, at time: HybridTime) throws {
    note.bind(1, raw: time.rawValue)
    note.bind(2, id.rawValue)
    try note.run()
  }

  /// By their times, so that what an author had seen comes before what it wrote.
  func forEachOperation(_ body: (LogID) throws -> Void) throws {
    defer { order.reset() }
    while try order.step() { try body(LogID(rawValue: order.int64(0))) }
  }

  // MARK: - States

  func state(of key: UnsafeRawBufferPointer, in table: Int64) throws -> RowState? {
    bind(key, table, to: read)
    return try read.state()
  }

  func put(_ state: RowState, of key: UnsafeRawBufferPointer, in table: Int64) throws {
    bind(key, table, to: put)
    try transaction.states.run(put, state, keyCount: 2)
  }

  func remove(_ key: UnsafeRawBufferPointer, in table: Int64) throws {
    bind(key, table, to: remove)
    try remove.run()
  }

  /// Calls `body` with the key of each row that was not removed.
  func forEachLeft(in table: Int64, _ body: ([UInt8]) throws -> Void) throws {
    rest.bind(1, table)
    defer { rest.reset() }
    while try rest.step() { try body(Array(rest.blob(0))) }
  }

  private func bind(
    _ key: UnsafeRawBufferPointer, _ table: Int64, to statement: FastStatement
  ) {
    statement.bind(1, table)
    statement.bind(2, blob: key)
  }
}
