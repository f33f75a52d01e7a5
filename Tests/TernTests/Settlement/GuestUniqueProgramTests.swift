import GRDB
import Tern
import TestDevice
import TestProcesses
import Testing

private let people = """
  CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, mail TEXT UNIQUE COLLATE NOCASE, name)
  """

/// UNIQUE beside the key, and who is not under Tern's eyes: another program, and a migrator that
/// erases.
@Suite("Settlement: UNIQUE and another program's writes")
struct GuestUniqueProgramTests {
  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter], ["ON", "OFF"])
  func `a REPLACE by the sqlite3 program removes for everybody what it removes here`(
    _ rule: DeleteRule, _ recursive: String
  ) throws {
    try withTemporaryFolder { folder in
      let path = folder + "/app.sqlite"
      let schema = SyncSchema(version: 1, tables: [SyncTable("person", deletes: rule)])
      let a = try Device(DatabasePool(path: path), schema, id: 1, migrator: .steps([people]))
      let b = try Device(DatabaseQueue(), schema, id: 2, migrator: .steps([people]))
      func program(_ statements: String...) throws -> String {
        try sqlite3(path, ["PRAGMA recursive_triggers = \(recursive)"] + statements)
      }
      try a.execute("INSERT INTO person VALUES ('1', 'ada@x', 'A'), ('2', 'bob@x', 'B')")
      try meetTwice(a, b)
      // Through the index, in another case, and through index and key at once.
      #expect(try program("REPLACE INTO person VALUES ('3', 'ADA@x', 'C')") == "")
      #expect(try program("INSERT OR REPLACE INTO person VALUES ('2', 'ada@X', 'D')") == "")
      try meetTwice(a, b)
      for device in [a, b] {
        #expect(try device.column("SELECT id || mail || name FROM person") == ["2ada@XD"])
        #expect(try device.store.counts().quarantined == 0)
      }
      try expectEqual(a, b, "person")
      // Both in one transaction of the program, and an update that replaces.
      _ = try program(
        "BEGIN; INSERT INTO person VALUES ('4', 'eve@x', 'E'), ('5', 'fay@x', 'F'); "
          + "UPDATE OR REPLACE person SET mail = 'fay@x' WHERE id = '4'; COMMIT")
      try meetTwice(a, b)
      #expect(try b.column("SELECT id FROM person ORDER BY id") == ["2", "4"])
      try expectEqual(a, b, "person")
    }
  }

  @Test func `under updateWins an edit brings back what the program replaced, as it was`() throws {
    try withTemporaryFolder { folder in
      let path = folder + "/app.sqlite"
      let schema = SyncSchema(version: 1, tables: [SyncTable("person", deletes: .updateWins)])
      let a = try Device(DatabasePool(path: path), schema, id: 1, migrator: .steps([people]))
      let b = try Device(DatabaseQueue(), schema, id: 2, migrator: .steps([people]))
      try a.execute("INSERT INTO person VALUES ('1', 'ada@x', 'A')")
      try meetTwice(a, b)
      try b.execute("UPDATE person SET mail = 'new@x' WHERE id = '1'")
      _ = try sqlite3(
        path,
        [
          "UPDATE person SET name = 'shortly before'",
          "REPLACE INTO person VALUES ('2', 'ada@x', 'B')",
        ])
      try meetTwice(a, b)
      for device in [a, b] {
        #expect(
          try device.column("SELECT id || mail || name FROM person ORDER BY id")
            == ["1new@xshortly before", "2ada@xB"])
      }
      try expectEqual(a, b, "person")
    }
  }

  @Test func `what the program's failed and ignored inserts met is not deleted`() throws {
    try withTemporaryFolder { folder in
      let path = folder + "/app.sqlite"
      let schema = SyncSchema(version: 1, tables: [SyncTable("person")])
      let a = try Device(DatabasePool(path: path), schema, id: 1, migrator: .steps([people]))
      try a.execute("INSERT INTO person VALUES ('1', 'ada@x', 'A')")
      try a.store.seal()
      _ = try sqlite3(
        path,
        [
          "INSERT OR IGNORE INTO person VALUES ('2', 'ada@x', 'B')",
          "BEGIN; REPLACE INTO person VALUES ('3', 'ada@x', 'C'); ROLLBACK",
        ])
      #expect(try a.store.seal().isEmpty)
      #expect(try a.column("SELECT id FROM person") == ["1"])
    }
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins])
  func `eraseDatabaseOnSchemaChange takes Tern's part in UNIQUE for no change, and erases once`(
    _ rule: DeleteRule
  ) throws {
    func migrator(_ creation: String) -> DatabaseMigrator {
      var migrator = DatabaseMigrator.steps([creation])
      migrator.eraseDatabaseOnSchemaChange = true
      return migrator
    }
    let schema = SyncSchema(version: 1, tables: [SyncTable("person", deletes: rule)])
    let database = try DatabaseQueue()
    var a = try Device(database, schema, id: 1, migrator: migrator(people))
    let b = try Device(DatabaseQueue(), schema, id: 2, migrator: .steps([people]))
    try a.execute("INSERT INTO person VALUES ('1', 'ada@x', 'A')")
    try b.execute("INSERT INTO person VALUES ('2', 'ada@x', 'B')")
    try meetTwice(a, b)
    let shown = try b.column("SELECT id FROM person")
    for _ in 1...2 {
      a = try Device(database, schema, id: 9, migrator: migrator(people))
      #expect(try a.store.replicaID() == ReplicaID(high: 0, low: 1))
      #expect(try a.column("SELECT id FROM person") == shown)
      #expect(try a.store.counts().quarantined == 1)
    }
    // With Tern's triggers still there the REPLACE of that moment is noted as any other.
    try a.execute("REPLACE INTO person VALUES ('3', 'ADA@x', 'C')")
    try meetTwice(a, b)
    try expectEqual(a, b, "person")

    // A changed migration erases: both rows come back from the other, and collide again.
    let changed = people.replacing("name)", with: "name, city UNIQUE)")
    a = try Device(database, schema, id: 3, migrator: migrator(changed))
    #expect(try a.store.replicaID() == ReplicaID(high: 0, low: 3))
    #expect(try a.column("SELECT id FROM person") == [])
    #expect(try a.store.counts().quarantined == 0)
    try meetTwice(a, b)
    #expect(
      try a.column("SELECT id FROM person ORDER BY 1")
        == b.column("SELECT id FROM person ORDER BY 1"))
    #expect(try a.store.counts().quarantined == b.store.counts().quarantined)
    #expect(try a.store.canonicalState().map(\.key) == b.store.canonicalState().map(\.key))
    let id = try a.store.replicaID()
    a = try Device(database, schema, id: 4, migrator: migrator(changed))
    #expect(try a.store.replicaID() == id)
  }

  @Test func `a UNIQUE index that comes with an erasing migration decides over rows of before`()
    throws
  {
    let plain = people.replacing(" UNIQUE", with: "")
    let schema = SyncSchema(version: 1, tables: [SyncTable("person")])
    var first = DatabaseMigrator.steps([plain])
    first.eraseDatabaseOnSchemaChange = true
    var second = DatabaseMigrator.steps([people])
    second.eraseDatabaseOnSchemaChange = true
    var a = try Device(DatabaseQueue(), schema, id: 1, migrator: first)
    let b = try Device(DatabaseQueue(), schema, id: 2, migrator: .steps([plain]))
    try a.execute("INSERT INTO person VALUES ('1', 'ada@x', 'A')")
    try a.store.seal()
    try a.execute("INSERT INTO person VALUES ('2', 'ADA@x', 'B')")
    try meetTwice(a, b)
    a = try Device(a.database, schema, id: 3, migrator: second)
    try meetTwice(a, b)
    #expect(try a.column("SELECT id FROM person") == ["1"])
    #expect(try a.store.counts().quarantined == 1)
    #expect(try b.column("SELECT id FROM person ORDER BY id") == ["1", "2"])
    try b.execute("DELETE FROM person WHERE id = '1'")
    try meetTwice(a, b)
    #expect(try a.column("SELECT id FROM person") == ["2"])
    #expect(try a.store.canonicalState() == b.store.canonicalState())
  }
}
