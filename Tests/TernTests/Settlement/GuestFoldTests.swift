import Foundation
import GRDB
import Tern
import TestDevice
import TestProcesses
import Testing

private let first = Fold.table + Fold.index + Fold.uses

private func rebuild(_ columns: String, _ index: String) -> String {
  """
  CREATE TABLE new_tag (sameAs TEXT, color, name TEXT COLLATE NOCASE, id TEXT NOT NULL PRIMARY KEY);
  INSERT INTO new_tag (\(columns)) SELECT \(columns) FROM tag;
  DROP TABLE tag;
  ALTER TABLE new_tag RENAME TO tag;
  \(index)
  """
}

@Suite("Settlement: an app whose rows fold", .timeLimit(.minutes(1)))
struct GuestFoldTests {
  @Test func `a rebuild that copies the pointers keeps them`() throws {
    var (a, b) = try Fold.devices()
    a = try a.upgraded(Fold.schema(), first, rebuild("id, name, color, sameAs", Fold.index))
    #expect(try a.tagLines == ["1 meals -", "2 Meals 1"])
    try expectEqual(a, b, "use")
    try b.commit("DELETE FROM tag WHERE id = '1'")
    try meetTwice(a, b)
    #expect(try a.tagLines == ["2 Meals -"])
    try expectHealthy(a)
  }

  @Test func `a rebuild that forgets the pointers fails at its index, and changes nothing`() throws
  {
    let (a, b) = try Fold.devices()
    let error = #expect(throws: DatabaseError.self) {
      try a.upgraded(Fold.schema(), first, rebuild("id, name, color", Fold.index))
    }
    #expect(error?.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE)
    #expect(error?.message?.contains("tag.name") == true)
    #expect(try a.tagLines == ["1 meals -", "2 Meals 1"])
    // The same with all columns.
    let again = try a.upgraded(
      Fold.schema(), first, rebuild("id, name, color, sameAs", Fold.index))
    try meetTwice(again, b)
    try expectHealthy(again)
  }

  @Test func `an app that folds no more makes its rows different, or gives up the index`() throws {
    for hasIndex in [false, true] {
      let (first, second) = try Fold.devices()
      let steps = [
        Fold.table + Fold.index + Fold.uses,
        "DROP INDEX tag_name",
        hasIndex ? "UPDATE tag SET name = name || ' 2' WHERE sameAs IS NOT NULL" : "SELECT 1",
        "ALTER TABLE tag DROP COLUMN sameAs", hasIndex ? Fold.plainIndex : "SELECT 2",
      ]
      let a = try Device(
        first.database, Fold.schema(2, isFolding: false), id: 99, migrator: .steps(steps))
      #expect(
        try a.column("SELECT name FROM tag ORDER BY id")
          == ["meals", hasIndex ? "Meals 2" : "Meals"])
      #expect(try a.inbox.isEmpty && a.store.counts().quarantined == 0)
      try expectHealthy(a)
      let b = try Device(
        second.database, Fold.schema(2, isFolding: false), id: 98, migrator: .steps(steps))
      try meetTwice(a, b)
      try expectEqual(a, b, "tag", "use")
      let ends = try a.store.counts().operations
      try meetTwice(a, b)
      #expect(try a.store.counts().operations == ends)
      try expectHealthy(a)
      try expectHealthy(b)
    }
  }

  @Test func `rows that a plain index kept out are folded once the table folds`() throws {
    let plain = Fold.table.replacing(", sameAs TEXT", with: "") + Fold.plainIndex + Fold.uses
    func device(_ id: UInt64) throws -> Device {
      try Device(
        DatabaseQueue(), Fold.schema(isFolding: false), id: id, migrator: .steps([plain]))
    }
    var (a, b) = (try device(1), try device(2))
    try Fold.fill(a, b)
    #expect(try a.column("SELECT id FROM tag") == ["1"])
    #expect(try a.store.counts().quarantined == 2)
    let steps = [
      plain, "DROP INDEX tag_name", "ALTER TABLE tag ADD COLUMN sameAs TEXT", Fold.index,
    ]
    a = try Device(a.database, Fold.schema(2), id: 98, migrator: .steps(steps))
    #expect(try a.tagLines == ["1 meals -", "2 Meals 1"])
    #expect(try a.column("SELECT tag FROM use") == ["2"])
    #expect(try a.store.counts().quarantined == 0 && a.inbox.map(\.kind) == [.folded])
    // One device of the older release goes on.
    try b.commit("UPDATE tag SET color = 'green'")
    try meetTwice(a, b)
    #expect(try a.tagLines == ["1 meals -", "2 Meals 1"])
    b = try Device(b.database, Fold.schema(2), id: 99, migrator: .steps(steps))
    try meetTwice(a, b)
    try expectEqual(a, b, "tag", "use")
  }

  @Test func `rows that nothing kept apart are folded once a migration points some to others`()
    throws
  {
    let loose = Fold.table.replacing(", sameAs TEXT", with: "") + Fold.uses
    var devices = try [1, 2].map {
      try Device(
        DatabaseQueue(), Fold.schema(isFolding: false), id: $0, migrator: .steps([loose]))
    }
    try Fold.fill(devices[0], devices[1])
    #expect(try devices[0].column("SELECT id FROM tag ORDER BY id") == ["1", "2"])
    // It chooses the later of the two.
    let steps = [
      loose, "ALTER TABLE tag ADD COLUMN sameAs TEXT",
      "UPDATE tag SET sameAs = '2' WHERE id = '1'", Fold.index,
    ]
    for index in devices.indices {
      devices[index] = try Device(
        devices[index].database, Fold.schema(2), id: 98 + UInt64(index), migrator: .steps(steps))
      #expect(try devices[index].tagLines == ["1 meals -", "2 Meals 1"])
      #expect(try devices[index].inbox.map(\.kind) == [.folded])
    }
    try meetTwice(devices[0], devices[1])
    try expectEqual(devices[0], devices[1], "tag", "use")
    for device in devices { try expectHealthy(device) }
  }

  @Test func `eraseDatabaseOnSchemaChange erases the pointers, and they come back`() throws {
    let (first, b) = try Fold.devices()
    var migrator = DatabaseMigrator.steps([Fold.table + Fold.index + Fold.uses + "SELECT 1"])
    migrator.eraseDatabaseOnSchemaChange = true
    let a = try Device(first.database, Fold.schema(), id: 99, migrator: migrator)
    try meetTwice(a, b)
    #expect(try a.tagLines == ["1 meals -", "2 Meals 1"])
    try expectEqual(a, b, "tag", "use")
  }

  @Test(arguments: [true, false])
  func `another process inserts, renames and deletes the winner`(_ isPool: Bool) throws {
    try withTemporaryFolder { folder in
      let path = "\(folder)/app.sqlite"
      let (a, b) = try Fold.devices(
        isPool ? try DatabasePool(path: path) : try DatabaseQueue(path: path))
      func other(_ sql: String) throws {
        try OtherWriter.process.write(sql, to: path)
        try a.store.seal()
      }
      try other("INSERT INTO tag (id, name, sameAs) VALUES ('3', 'meals', '2')")
      #expect(try a.tagLines == ["1 meals -", "2 Meals 1", "3 meals 1"])
      try other("UPDATE tag SET name = 'x' WHERE id = '1'")
      #expect(try a.tagLines == ["1 x -", "2 Meals -", "3 meals 2"])
      try other("DELETE FROM tag WHERE id = '2'")
      #expect(try a.tagLines == ["1 x -", "3 meals -"])
      try meetTwice(a, b)
      try expectEqual(a, b, "tag", "use")
      _ = try OtherWriter.process.write("INSERT INTO tag (id, name) VALUES ('9', 'free')", to: path)
      try meetTwice(a, b)
      try expectEqual(a, b, "tag", "use")
    }
  }

  @Test func `an observation of the pointers is told, and changes name the rows`() async throws {
    let (a, b) = try Fold.devices()
    let observation = ValueObservation.tracking {
      try String.fetchAll($0, sql: "SELECT id FROM tag WHERE sameAs IS NOT NULL")
    }
    var values = observation.values(in: a.database).makeAsyncIterator()
    #expect(try await values.next() == ["2"])
    var changes = a.replica.changes().makeAsyncIterator()
    try b.commit("UPDATE tag SET name = 'x' WHERE id = '1'")
    try a.pull(from: b)
    try await expectNext([], &values)
    #expect(try await changes.next()?.merged["tag"] == .keys([["1"], ["2"]]))
    // It takes the place back from a row that is here, and nobody else's write changes that.
    let c = try Fold.device(3)
    try delay(c, after: b)
    try c.commit("INSERT INTO tag (id, name) VALUES ('3', 'MEALS')")
    try a.pull(from: c)
    try await expectNext(["3"], &values)
    try a.commit("DELETE FROM tag WHERE id = '2'")
    try await expectNext([], &values)
    var local: Set<[SQLiteValue]> = []
    while local.count < 2, let next = try await changes.next() {
      for rows in [next.local["tag"], next.merged["tag"]] {
        if case .keys(let keys) = rows { local.formUnion(keys) }
      }
    }
    #expect(local.isSuperset(of: [["3"], ["2"]]))
  }

  @Test func `a copy of a database goes on folding`() throws {
    let (a, b) = try Fold.devices()
    let copied = try DatabaseQueue()
    try a.database.backup(to: copied)
    try b.commit("UPDATE tag SET name = 'x' WHERE id = '1'")
    try meetTwice(a, b)
    let restored = try Fold.device(3, copied)
    #expect(try restored.tagLines == ["1 meals -", "2 Meals 1"])
    try restored.commit("INSERT INTO tag (id, name) VALUES ('4', 'lunch')")
    try meetTwice(restored, b)
    #expect(try restored.tagLines == ["1 x -", "2 Meals -", "4 lunch -"])
    try expectEqual(restored, b, "tag", "use")
  }

  @Test func `a table that leaves the schema and comes back is looked at again`() throws {
    let (first, b) = try Fold.devices()
    let none = try Device(
      first.database, SyncSchema(version: 1, tables: []), id: 98,
      migrator: .steps([Fold.table + Fold.index + Fold.uses]))
    try none.execute("DELETE FROM tag WHERE id = '1'")
    try b.commit("INSERT INTO tag (id, name) VALUES ('3', 'other')")
    try none.pull(from: b)
    let a = try Device(
      first.database, Fold.schema(), id: 99,
      migrator: .steps([Fold.table + Fold.index + Fold.uses]))
    try meetTwice(a, b)
    try expectEqual(a, b, "tag", "use")
  }

  @Test func `a table with integer keys and pointers is given keys, and begins to fold`() throws {
    let integers = """
      CREATE TABLE tag (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, color, sameAs INTEGER);
      CREATE UNIQUE INDEX tag_name ON tag (name) WHERE sameAs IS NULL;
      INSERT INTO tag VALUES (1, 'meals', 'red', NULL), (2, 'Meals', 'blue', 1);
      """
    var migrator = DatabaseMigrator.steps([integers])
    migrator.registerMigration("keys") { db in
      try db.rekeyForSync("tag", references: [RekeyedColumn("tag", "sameAs")])
    }
    let schema = SyncSchema(
      version: 1, tables: [SyncTable("tag", collisions: .fold(into: "sameAs"))])
    let a = try Device(DatabaseQueue(), schema, id: 1, migrator: migrator)
    let pointers = try a.column(
      "SELECT count(*) FROM tag AS t JOIN tag AS g ON t.sameAs = g.id WHERE g.sameAs IS NULL")
    #expect(pointers == ["1"])
    try expectHealthy(a)
    try a.commit("DELETE FROM tag WHERE sameAs IS NULL")
    #expect(try a.column("SELECT count(*) FROM tag WHERE sameAs IS NULL") == ["1"])
    try expectHealthy(a)
  }
}
