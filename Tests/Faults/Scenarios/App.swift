import GRDB
import Tern

/// An app with a replica in its database.
final class App: Program {
  static let fileName = "app.sqlite"

  /// How the app opens its database.
  struct Setup: Sendable {
    var schema = Catalogue.schema
    /// Statements that are migrations, one each.
    var migrations: [String] = Catalogue.creation
    /// A rollback journal instead of a log.
    var usesJournal = false
    /// Pages after which a commit moves the log into the file.
    var checkpointPages = 1000
    /// Pages that a connection keeps in memory; with few, a transaction writes before its commit.
    var cachePages: Int?
    var durability = Durability.powerLoss
    var logRetention = Replica.defaultLogRetention
    var id: UInt64 = 1
    /// Where further ids come from: the same in every life.
    var random: UInt64 = 7
  }

  let disk: Disk
  let setup: Setup
  private(set) var database: (any DatabaseWriter)?
  private var replica: Replica?

  required convenience init(_ disk: Disk) { self.init(disk, Setup()) }

  init(_ disk: Disk, _ setup: Setup) {
    self.disk = disk
    self.setup = setup
  }

  func open() throws {
    let database = try self.database ?? openDatabase()
    self.database = database
    if replica != nil { return }
    var migrator = DatabaseMigrator()
    for migration in setup.migrations {
      migrator.registerMigration(migration) { try $0.execute(sql: migration) }
    }
    let (id, random) = (setup.id, setup.random)
    replica = try Replica.openBlocking(
      database, schema: setup.schema, migrator: migrator, durability: setup.durability,
      logRetention: setup.logRetention, random: { random },
      makeID: { ReplicaID(high: 0, low: id) })
  }

  private func openDatabase() throws -> any DatabaseWriter {
    var configuration = Configuration()
    let setup = setup
    configuration.prepareDatabase { db in
      try db.execute(sql: "PRAGMA wal_autocheckpoint = \(setup.checkpointPages)")
      if let pages = setup.cachePages { try db.execute(sql: "PRAGMA cache_size = \(pages)") }
    }
    let path = disk.path(Self.fileName)
    if setup.usesJournal { return try DatabaseQueue(path: path, configuration: configuration) }
    return try DatabasePool(path: path, configuration: configuration)
  }

  var store: SQLiteReplicaStore {
    get throws {
      guard let replica else { throw NotOpen() }
      return replica.store
    }
  }

  func execute(_ sql: String) throws {
    try store.database.write { try $0.execute(sql: sql) }
  }

  func settings() throws -> [String] {
    try store.database.writeWithoutTransaction { db in
      try ["foreign_keys", "synchronous", "defer_foreign_keys", "recursive_triggers"].map {
        "\($0) \(try Int.fetchOne(db, sql: "PRAGMA \($0)") ?? -1)"
      }
    }
  }

  static func isDisk(_ error: any Error) -> Bool { false }

  func abandon() {
    replica = nil
    // On a disk that no longer answers, closing says so.
    try? database?.close()
    database = nil
  }

  struct NotOpen: Error {}
}

/// A library's catalogue: rows that refer to others, a counter and an extreme.
enum Catalogue {
  static let schema = SyncSchema(
    version: 1,
    tables: [
      SyncTable("shelf"), SyncTable("book", merge: ["loans": .counter, "edition": .max]),
    ])

  static let creation = [
    "CREATE TABLE shelf (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL DEFAULT '')",
    """
    CREATE TABLE book (
      id TEXT PRIMARY KEY NOT NULL, shelf TEXT REFERENCES shelf (id), title TEXT,
      loans INTEGER NOT NULL DEFAULT 0, edition INTEGER)
    """,
  ]

  /// One statement that adds books to a shelf, which may be missing.
  static func books(_ numbers: Range<Int>, on shelf: String) -> String {
    let rows = numbers.map { number in
      "('b\(number)', '\(shelf)', '\(String(repeating: "title \(number) ", count: 8))')"
    }
    return "INSERT INTO book (id, shelf, title) VALUES \(rows.joined(separator: ", "))"
  }

  static func shelf(_ id: String) -> String {
    "INSERT INTO shelf (id, name) VALUES ('\(id)', 'shelf \(id)')"
  }
}
