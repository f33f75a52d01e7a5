import GRDB
import Tern

/// A database with the table `item`, synced or plain.
struct Subject {
  let database: any DatabaseWriter
  /// `nil` for one in memory.
  let path: String?
  let replica: Replica?
  var rows: [BenchRow]

  static let rowsPerTransaction = 1000
  static let insertSQL = "INSERT INTO item VALUES (?1, ?2, ?3, ?4, ?5)"
  private static let updateSQL = "UPDATE item SET b = ?2 WHERE id = ?1"
  private static let upsertSQL =
    insertSQL + " ON CONFLICT DO UPDATE SET a = ?2, b = ?3, c = ?4, d = ?5"
  private static let upsertChangeSQL =
    "INSERT INTO item (id, b) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET b = excluded.b"

  enum Tables {
    case alone
    /// Each item refers to a row of `shelf`.
    case child
  }

  /// - Parameter path: of the file; `nil` for a database in memory.
  init(
    isSynced: Bool, path: String?, rows: [BenchRow], tables: Tables = .alone, replicaID: UInt64 = 1,
    configuration: Configuration = Configuration()
  ) throws {
    self.path = path
    database =
      try path.map { try DatabasePool(path: $0, configuration: configuration) } ?? DatabaseQueue()
    self.rows = rows
    let schema = tables == .child ? BenchRow.childTable : BenchRow.table
    try database.write { try $0.execute(sql: schema) }
    if isSynced {
      replica = try Self.open(
        database, replicaID: replicaID, tables: tables == .child ? ["shelf", "item"] : ["item"])
    } else {
      replica = nil
      try Durability.powerLoss.apply(to: database)
    }
  }

  /// What everybody holds leaves the log at once.
  static func open(
    _ database: any DatabaseWriter, replicaID: UInt64, tables: [String] = ["item"]
  ) throws -> Replica {
    try Replica.openBlocking(
      database, schema: SyncSchema(version: 1, tables: tables.map { SyncTable($0) }),
      logRetention: .zero, makeID: { ReplicaID(high: 0, low: replicaID) })
  }

  // MARK: - Statements through the C API, 1,000 rows a transaction

  func insert(sealing: Bool = false) throws {
    try write(Self.insertSQL, sealing: sealing) { $0.bindAll(to: $1) }
  }

  func update(sealing: Bool = false) throws {
    try write(Self.updateSQL, sealing: sealing) { $0.bindChange(to: $1) }
  }

  func delete(sealing: Bool = false) throws {
    try write("DELETE FROM item WHERE id = ?1", sealing: sealing) { $0.bindKey(to: $1) }
  }

  func upsert() throws {
    try write(Self.upsertSQL, sealing: false) { $0.bindAll(to: $1) }
  }

  func upsertChange() throws {
    try write(Self.upsertChangeSQL, sealing: false) { $0.bindChange(to: $1) }
  }

  @inline(__always)
  private func write(_ sql: String, sealing: Bool, _ bind: (BenchRow, FastStatement) -> Void)
    throws
  {
    for start in stride(from: 0, to: rows.count, by: Self.rowsPerTransaction) {
      try database.write { db in
        let statement = try FastStatement(db, sql)
        for row in rows[start..<min(start + Self.rowsPerTransaction, rows.count)] {
          bind(row, statement)
          try statement.run()
        }
      }
      if sealing { try replica?.store.seal() }
    }
  }

  // MARK: - One row a transaction, through GRDB as an app does it

  func insertOneByOne(sealing: Bool = false) throws {
    for row in rows {
      try insertOne(row)
      if sealing { try seal() }
    }
  }

  func insertOne(_ row: BenchRow) throws {
    try database.write { try Self.insert(row, $0) }
  }

  func seal() throws { try replica?.store.seal() }

  /// Changes one column of each row, in a transaction and an operation of its own.
  func updateOneByOne() throws {
    for row in rows {
      try replica?.store.write { db in
        let statement = try FastStatement(db, Self.updateSQL)
        row.bindChange(to: statement)
        try statement.run()
      }
    }
  }

  /// Each row through `Replica.write`: sealed in its own transaction.
  func insertOneByOneSealedInside() throws {
    for row in rows { try replica?.store.write { try Self.insert(row, $0) } }
  }

  private static func insert(_ row: BenchRow, _ db: Database) throws {
    let statement = try db.cachedStatement(sql: insertSQL)
    try statement.execute(
      arguments: [row.id.string, row.a.string, row.b.int64, row.c.double, row.d.string])
  }

  // MARK: - Remotes

  /// A remote holds everything that was written so far.
  func acknowledge() throws {
    guard let store = replica?.store else { return }
    try store.trim(heldBy: store.versionVector(), at: "bench")
  }

  /// What is pushed: every operation so far, in one batch.
  func batch() throws -> OperationBatch {
    guard let store = replica?.store else { return OperationBatch([]) }
    return OperationBatch(try store.operations(lackedBy: VersionVector(), maximumBytes: .max))
  }

  // MARK: - Merging

  /// Everything written so far, as pages of one operation.
  func pages(after cursor: Int = 0) throws -> [PulledPage] {
    guard let replica else { return [] }
    try replica.store.seal()
    let heads = VersionVector([try replica.store.replicaID(): UInt64(cursor)])
    let operations = try replica.store.operations(lackedBy: heads, maximumBytes: .max)
    return operations.map {
      PulledPage(
        operations: [$0], cursor: RemoteCursor(rawValue: "1"), hasMore: false, now: nil)
    }
  }

  func merge(_ pages: [PulledPage]) throws {
    let place = RemotePlace(remoteID: "bench", epoch: "e", cursor: nil)
    for page in pages { _ = try replica?.store.merge(page, from: place) }
  }
}

extension WireValue {
  fileprivate var string: String { String(decoding: content, as: UTF8.self) }
  fileprivate var int64: Int64 { Int64(bitPattern: bits) }
  fileprivate var double: Double { Double(bitPattern: bits) }
}
