import GRDB
import Rehearsals
import TernTesting
import TestDevice
import Testing

@testable import Tern

/// SQLite itself says which rows a REPLACE takes away: these are the rivals.
@Suite("Settlement: the rivals of a row")
struct RivalsTests {
  @Test(arguments: Rehearsal.seeds(1...200, short: 40))
  func `rows that collide with one that is in no table are those that a REPLACE removes`(
    _ seed: UInt64
  ) throws {
    let found = try mismatches(seed)
    #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
  }

  #if Rehearsal
  @Test func `a WHERE that is held against one side is caught`() throws {
    let isCaught = try Planted.with(.whereOneSided) {
      try (1...20).contains { try !mismatches($0).isEmpty }
    }
    #expect(isCaught)
  }
  #endif

  private func mismatches(_ seed: UInt64) throws -> [String] {
    var mismatches: [String] = []
    var table = UniqueTable(seed: seed)
    let device = try table.device(1)
    try table.fill(device)
    for _ in 0..<12 {
      let row = table.row()
      let content = try device.database.read { db in
        try row.reduce(into: [String: SQLiteValue]()) { content, written in
          let name = String(written.column.dropFirst().dropLast())
          content[name] = try SQLiteValue.fetchOne(db, sql: "SELECT \(written.value)") ?? .null
        }
      }
      // NULL is refused there, and never in a row that waits for its place.
      if content["deleted"] == .null || content["fixed"] == .null { continue }
      let insert = table.insert("new", row, "REPLACE")
      var removed: Set<String> = []
      try device.database.writeWithoutTransaction { db in
        try db.inTransaction {
          let before = try UniqueTable.keys(db)
          try db.execute(sql: insert)
          removed = try before.subtracting(UniqueTable.keys(db))
          return .rollback
        }
      }
      let found = try rivals(of: "new", content, device)
      if found != removed.sorted() {
        mismatches.append(
          "\(found), and \(insert) removes \(removed) with \(table.indexes)")
      }
    }
    return mismatches
  }

  private func rivals(
    of key: SQLiteValue, _ content: [String: SQLiteValue], _ device: Device
  ) throws -> [String] {
    try device.store.access.write { transaction in
      let writer = try TableWriter(transaction, transaction.sql[0], hasHeld: true)
      return try writer.rivals(of: PackedKey.bytes(of: [key]), content: content).map { key in
        try key.withUnsafeBytes { try PackedKey.values($0) }[0].string ?? ""
      }.sorted()
    }
  }

  /// What a connection can see, and what opening a file again would find.
  private func traces(_ device: Device) throws -> [[DatabaseValue]] {
    try device.rows(
      """
      SELECT name, sql FROM sqlite_master WHERE name NOT GLOB 'grdb_*'
      UNION ALL SELECT name, sql FROM sqlite_temp_master
      UNION ALL SELECT name, file FROM pragma_database_list
      """)
  }

  @Test func `the search leaves nothing behind, also where SQLite can compute no value`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("t")])
    let device = try Device(schema, id: 1) { db in
      try db.execute(
        sql: """
          CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a TEXT);
          CREATE UNIQUE INDEX i ON t (replace(a, 'a', a)) WHERE a <> 'no';
          INSERT INTO t VALUES ('1', 'b');
          """)
    }
    let before = try traces(device)
    #expect(try rivals(of: "2", ["a": "b"], device) == ["1"])
    #expect(try rivals(of: "2", ["a": "no"], device) == [])
    // More than SQLite lets a text be.
    let long = SQLiteValue.string(String(repeating: "a", count: 40_000))
    #expect(try rivals(of: "2", ["a": long], device) == [])
    #expect(try rivals(of: "2", ["a": "b"], device) == ["1"])
    #expect(try traces(device) == before)
  }

  @Test func `a default that only the app's connection can compute is taken from there`() throws {
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      db.add(function: DatabaseFunction("app", argumentCount: 0, pure: true) { _ in "Dune" })
    }
    let database = try DatabaseQueue(configuration: configuration)
    let schema = SyncSchema(version: 1, tables: [SyncTable("t")])
    let device = try Device(schema, id: 1, database: database) { db in
      try db.execute(
        sql: """
          CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a TEXT DEFAULT (app()), b);
          CREATE UNIQUE INDEX i ON t (lower(a)); INSERT INTO t (id) VALUES ('1');
          """)
    }
    #expect(try rivals(of: "2", ["b": "x"], device) == ["1"])
    #expect(try rivals(of: "2", ["a": "x"], device) == [])
  }
}
