import GRDB
import TernCore
import TernDatabase

/// One write transaction of a replica: what seal and merge share while it is open.
///
/// Used by one thread, inside one synchronous `write`.
final class StoreTransaction {
  let db: Database
  let tables: StoreTables
  let sql: [TableSQL]
  var authors: Authors
  let schemaVersion: UInt32
  var lastTime: HybridTime
  private(set) var correctionMilliseconds: Int64
  var waiting: WaitingTable
  let held: HeldTable
  var large: LargeTable
  var log: LogTable { LogTable(connection) }
  var remotes: RemoteTable { RemoteTable(connection) }
  /// The row of author 0, as stored.
  private var ownRow: AuthorRow
  private var scratch = ByteWriter()
  private let connection: StoreConnection
  /// Where somebody listens: which rows changed.
  let recorder: ChangeRecorder?
  let inboxLimits: InboxLimits
  /// The app's.
  private(set) lazy var triggers = TransactionTriggers(connection, of: sql, known: knownTriggers)
  private let knownTriggers: KnownTriggers?
  var failedTriggers: FailedTriggerTable { FailedTriggerTable(connection, triggers) }
  /// Whether a write can reach other tables, once that was looked up.
  private var spreadsWrites: Bool?

  init(
    _ db: Database, tables: StoreTables, sql: [TableSQL], recorder: ChangeRecorder? = nil,
    inboxLimits: InboxLimits = InboxLimits(), knownTriggers: KnownTriggers? = nil,
    statements: StatementMemory? = nil
  ) throws {
    self.db = db
    let connection = StoreConnection(db, tables, memory: statements)
    self.connection = connection
    held = HeldTable(connection)
    self.knownTriggers = knownTriggers
    self.inboxLimits = inboxLimits
    self.recorder = recorder
    self.tables = tables
    self.sql = sql
    let author: FastStatement
    do {
      let replica = try connection.statement(tables.statements.readReplica)
      author = try connection.statement(tables.statements.readAuthors)
      guard try replica.step() else { throw ReplicaError.notInstalled }
      // What a newer Tern made of the tables while this one had them open, only that one reads.
      guard replica.int64(6) <= tables.format else {
        defer { replica.reset() }
        throw ReplicaError.newerFormat(Int(replica.int64(6)))
      }
      lastTime = HybridTime(rawValue: replica.raw(0))
      schemaVersion = UInt32(replica.int64(1))
      correctionMilliseconds = replica.int64(2)
      large = LargeTable(connection, hasRows: replica.int64(3) != 0)
      waiting = WaitingTable(
        connection, hasGroups: replica.int64(5) != 0, hasFuture: replica.int64(4) != 0)
      replica.reset()
      guard try author.step() else { throw ReplicaError.notInstalled }
    } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
      // A disk's error may have ended the transaction, and then no more can be asked.
      throw try tables.reason(for: error, in: db)
    }
    ownRow = AuthorRow(author, from: 1)
    var ids: [ReplicaID] = []
    repeat {
      ids.append(try tables.author(in: author))
    } while try author.step()
    author.reset()
    authors = Authors(ids)
  }

  var ownID: ReplicaID { authors.ids[0] }

  func statement(_ sql: String) throws -> FastStatement {
    try connection.statement(sql)
  }

  func saveClock() throws {
    let statement = try statement(tables.statements.saveClock)
    statement.bind(1, raw: lastTime.rawValue)
    statement.bind(2, correctionMilliseconds)
    try statement.run()
  }

  func setCorrection(_ milliseconds: Int64) {
    correctionMilliseconds = milliseconds
  }

  /// Tells observers of writes that went past GRDB.
  func notifyChanges(in shape: TableShape) throws {
    // GRDB cannot look up, and so not observe, a table with a quote in its name.
    if !shape.name.contains("\"") { try db.notifyChanges(in: Table(shape.name)) }
  }

  /// The same for a write under the app's triggers and foreign keys: cascades and triggers write to
  /// tables that nobody here knows.
  func notifyWrite(to shape: TableShape) throws {
    if spreadsWrites == nil {
      let hasActions =
        try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") ?? false && !triggers.actions().isEmpty
      spreadsWrites = try hasActions || !triggers.all().isEmpty
    }
    guard spreadsWrites! else { return try notifyChanges(in: shape) }
    // Not `.fullDatabase`, which fails where any table has a quote in its name.
    for name in try db.observableTables() { try db.notifyChanges(in: Table(name)) }
  }

  // MARK: - Authors

  struct AuthorRow {
    var stored: UInt64
    var merged: UInt64
    var time: HybridTime
    /// The log holds none of the operations up to this one, but those of which something waits.
    var trimmed: UInt64 = 0
    /// Of the operation ``trimmed``.
    var trimmedTime = HybridTime.zero
  }

  func author(_ index: UInt32) throws -> AuthorRow {
    if index == 0 { return ownRow }
    let statement = try statement(tables.statements.readAuthor)
    statement.bind(1, Int64(index))
    defer { statement.reset() }
    guard try statement.step() else { return AuthorRow(stored: 0, merged: 0, time: .zero) }
    return AuthorRow(statement, from: 0)
  }

  func save(_ row: AuthorRow, of index: UInt32) throws {
    if index == 0 { return try saveOwn(row) }
    let statement = try statement(tables.statements.saveAuthor)
    let id = authors.ids[Int(index)].bytes
    try id.withUnsafeBytes { bytes in
      statement.bind(1, Int64(index))
      statement.bind(2, blob: bytes)
      statement.bind(3, raw: row.stored)
      statement.bind(4, raw: row.merged)
      statement.bind(5, raw: row.time.rawValue)
      try statement.run()
    }
  }

  private func saveOwn(_ row: AuthorRow) throws {
    let statement = try statement(tables.statements.saveOwn)
    statement.bind(1, raw: row.stored)
    statement.bind(2, raw: row.merged)
    statement.bind(3, raw: row.time.rawValue)
    try statement.run()
    ownRow = row
  }

  // MARK: - Log

  // MARK: - Row states

  /// Reads the state that stands in `statement` from `column` on; `nil` where there is none.
  func state(in statement: FastStatement, from column: Int32) throws -> RowState? {
    if statement.isNull(column) { return nil }
    let cells =
      statement.isNull(column + 4) ? [] : try RowState.readCells(statement.blob(column + 4))
    return RowState(
      life: UInt32(truncatingIfNeeded: statement.int64(column)),
      stamp: Stamp(
        time: HybridTime(rawValue: statement.raw(column + 1)),
        author: UInt32(truncatingIfNeeded: statement.int64(column + 2))),
      covered: UInt32(truncatingIfNeeded: statement.int64(column + 3)), cells: cells)
  }

  /// The state of a row; `nil` where there is none.
  func state(of key: [Value], _ sql: TableSQL) throws -> RowState? {
    let read = try statement(sql.readState)
    for (index, value) in key.enumerated() { read.bind(Int32(index + 1), copy: value) }
    defer { read.reset() }
    return try read.step() ? try state(in: read, from: 0) : nil
  }

  /// Binds a state behind a key of `keyCount` values and runs the statement.
  ///
  /// - Returns: whether a row changed; inserting changes none where a state stands already.
  @discardableResult
  func run(_ statement: FastStatement, state: RowState, keyCount: Int) throws -> Bool {
    scratch.removeAll()
    if !state.cells.isEmpty { state.appendCells(to: &scratch) }
    return try scratch.bytes.withUnsafeBytes { cells in
      statement.bind(
        Int32(keyCount), life: state.life, stamp: state.stamp, covered: state.covered, cells: cells)
      return try statement.runCounting()
    }
  }
}

extension StoreTransaction.AuthorRow {
  fileprivate init(_ statement: FastStatement, from column: Int32) {
    stored = statement.raw(column)
    merged = statement.raw(column + 1)
    time = HybridTime(rawValue: statement.raw(column + 2))
    trimmed = statement.raw(column + 3)
    trimmedTime = HybridTime(rawValue: statement.raw(column + 4))
  }
}
