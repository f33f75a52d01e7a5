import GRDB
import Synchronization
import TestDevice
import TestProcesses
import Testing

@testable import Tern

private let creation = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a TEXT)"
private let addition = "ALTER TABLE t ADD COLUMN b TEXT"
private let v1 = SyncSchema(version: 1, tables: [SyncTable("t")])
private let v2 = SyncSchema(version: 2, tables: [SyncTable("t")])

/// What openings of one file owe each other.
@Suite("Replica: several openings of one file")
struct GuestOpeningTests {
  @Test(arguments: [true, false])
  func `INV-02: who opened with an older schema drops no note that it cannot read`(
    isOtherProcess: Bool
  ) throws {
    try withTemporaryFolder { folder in
      let path = "\(folder)/app.sqlite"
      let old = try Device(DatabasePool(path: path), v1, id: 1, migrator: .steps([creation]))
      try old.commit("INSERT INTO t VALUES ('1', 'x')")
      let database = isOtherProcess ? try DatabasePool(path: path) : old.database
      let new = try Device(database, v2, id: 99, migrator: .steps([creation, addition]))
      try new.execute("UPDATE t SET b = 'y'")
      #expect(throws: ReplicaError.self) { try old.store.seal() }
      let error = #expect(throws: ReplicaError.self) {
        try old.store.write { try $0.execute(sql: "UPDATE t SET a = 'lost'") }
      }
      #expect(error?.code == .schemaChanged)
      #expect(throws: ReplicaError.self) {
        try old.database.write { try old.store.access.join($0) { _ in } }
      }
      #expect(try old.store.counts().unsealedChanges == 1)
      let peer = try Device(DatabaseQueue(), v2, id: 2, migrator: .steps([creation, addition]))
      try meet(new, peer)
      #expect(try peer.column("SELECT a || b FROM t") == ["xy"])
      try expectEqual(new, peer, "t")
    }
  }

  /// As an app's own, which migrated in it before.
  private struct Opened {
    let replica: Replica

    init(_ path: String, _ schema: SyncSchema, _ steps: [String]) throws {
      replica = try Replica.open(DatabasePool(path: path), schema: schema, migrator: .steps(steps))
    }
  }

  @Test func `an initializer opens a replica without await, migrates and captures`() throws {
    try withTemporaryFolder { folder in
      let path = "\(folder)/app.sqlite"
      let first = try Opened(path, v1, [creation]).replica
      try first.database.write { try $0.execute(sql: "INSERT INTO t VALUES ('1', 'x')") }
      #expect(try first.store.seal() == 1..<2)
      let second = try Opened(path, v2, [creation, addition]).replica
      try second.database.write { try $0.execute(sql: "UPDATE t SET b = 'y'") }
      #expect(try second.store.seal() == 2..<3)
      #expect(throws: SchemaError.self) {
        try Opened("\(folder)/other.sqlite", v1, ["CREATE TABLE u (a)"])
      }
    }
  }

  /// What an upgrade by a newer Tern can look like: another number, also with other tables.
  private static let upgrades = [
    "UPDATE grdb_tern_main_replica SET format = format + 1",
    """
    UPDATE grdb_tern_main_replica SET format = format + 1; DROP TABLE grdb_tern_main_waiting
    """,
    """
    UPDATE grdb_tern_main_replica SET format = format + 1;
    ALTER TABLE grdb_tern_main_column RENAME TO grdb_tern_main_field
    """,
  ]

  @Test(arguments: upgrades)
  func `INV-02: who had it open as a newer Tern changed its format leaves it alone, and says why`(
    upgrade: String
  ) throws {
    try withTemporaryFolder { folder in
      let path = "\(folder)/app.sqlite"
      let old = try Device(DatabasePool(path: path), v1, id: 1, migrator: .steps([creation]))
      try old.commit("INSERT INTO t VALUES ('1', 'x')")
      let peer = try Device(DatabaseQueue(), v1, id: 2, migrator: .steps([creation]))
      try peer.commit("INSERT INTO t VALUES ('2', 'peer')")
      let newer = try DatabaseQueue(path: path)
      try newer.write { try $0.execute(sql: upgrade) }
      try old.execute("UPDATE t SET a = 'noted'")
      let before = try old.rows("SELECT * FROM grdb_tern_main_log, grdb_tern_main_author")
      let attempts: [() throws -> Void] = [
        { try old.store.seal() },
        { try old.store.write { try $0.execute(sql: "UPDATE t SET a = 'lost'") } },
        { try old.database.write { try old.store.access.join($0) { _ in } } },
        { try old.pull(from: peer) },
        { _ = try old.store.operations(lackedBy: VersionVector(), maximumBytes: 1_000) },
        { _ = try old.store.counts() },
      ]
      for attempt in attempts {
        let error = #expect(throws: ReplicaError.self) { try attempt() }
        #expect(error?.code == .newerFormat && error?.message.contains("update the app") == true)
      }
      #expect(try old.column("SELECT a FROM t") == ["noted"])
      #expect(try old.rows("SELECT * FROM grdb_tern_main_log, grdb_tern_main_author") == before)
      #expect(try old.column("SELECT count(*) FROM grdb_tern_main_note_1") == ["1"])
    }
  }

  @Test func `opening again with the same tables keeps the first opening's object`() throws {
    let old = try Device(DatabaseQueue(), v1, id: 1, migrator: .steps([creation]))
    let new = try old.upgraded(v2, creation, "CREATE TABLE other (x)")
    try old.commit("INSERT INTO t VALUES ('1', 'x')")
    try new.commit("INSERT INTO t VALUES ('2', 'x')")
    #expect(try new.store.counts().operations == 2)
  }

  /// Two processes after an update of the app: both see that a migration is due, and one waits for the other.
  @Test func `an opening that waited for another's migration leaves its triggers alone`() throws {
    try withTemporaryFolder { folder in
      let path = "\(folder)/app.sqlite"
      _ = try Device(DatabasePool(path: path), v1, id: 1, migrator: .steps([creation]))
      let first = try DatabasePool(path: path)
      let triggers = Mutex<[Int]>([])
      let steps = DatabaseMigrator.steps([creation, addition])
      var configuration = Configuration()
      configuration.prepareDatabase { db in
        // Each statement is told of before it runs, the lock it asks for included.
        db.trace { event in
          guard "\(event)" == "BEGIN IMMEDIATE TRANSACTION" else { return }
          do {
            if triggers.withLock({ $0.isEmpty }) {
              _ = try Device(first, v2, id: 98, migrator: steps)
            }
            let count = try first.read {
              try Int.fetchOne(
                $0, sql: "SELECT count(*) FROM sqlite_master WHERE type = 'trigger'")!
            }
            triggers.withLock { $0.append(count) }
          } catch {
            Issue.record(error)
          }
        }
      }
      let second = try DatabasePool(path: path, configuration: configuration)
      let device = try Device(second, v2, id: 99, migrator: steps)
      let counts = triggers.withLock { $0 }
      #expect(counts.count > 1)
      #expect(Set(counts).count == 1 && counts[0] > 0)
      try device.commit("INSERT INTO t VALUES ('1', 'x', 'y')")
      #expect(try device.store.counts().operations == 1)
    }
  }

  /// An app's column with an affinity and a key of a state, which has none, are compared as numbers.
  @Test(arguments: [
    "k INT NOT NULL PRIMARY KEY", "k BIGINT NOT NULL PRIMARY KEY",
    "k TEXT NOT NULL PRIMARY KEY", "k BLOB NOT NULL PRIMARY KEY",
    "k TEXT NOT NULL, day INTEGER NOT NULL, PRIMARY KEY (k, day)",
  ])
  func `looking for rows without a state searches the states by their key`(_ key: String) throws {
    let device = try Device(
      DatabaseQueue(), v1, id: 1, migrator: .steps(["CREATE TABLE t (a TEXT, \(key))"]))
    let sql = device.store.sql[0]
    for condition in [sql.note.isStateless, sql.note.isStateOfRow] {
      let select =
        condition == sql.note.isStateless
        ? "SELECT 1 FROM t AS r WHERE \(condition)"
        : "SELECT 1 FROM t AS r WHERE NOT EXISTS (SELECT 1 FROM \(sql.note.rowTable) AS s WHERE \(condition))"
      let plan = try device.database.read { db in
        try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN \(select)").map { $0["detail"] as String }
      }
      let keys = sql.note.keyNames.map { "\($0)=?" }.joined(separator: " AND ")
      #expect(plan.contains { $0.hasPrefix("SEARCH s") && $0.contains(keys) }, "\(plan)")
    }
  }
}
