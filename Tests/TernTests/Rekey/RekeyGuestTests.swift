import Foundation
import GRDB
import Tern
import TestDevice
import TestProcesses
import Testing

private let creation = """
  CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
  CREATE TABLE page (
    id INTEGER PRIMARY KEY, book INT NOT NULL REFERENCES book ON DELETE CASCADE, n INT);
  CREATE TABLE tag (name TEXT NOT NULL PRIMARY KEY, n INT);
  """
private let rekeyed = SyncSchema(
  version: 2, tables: [SyncTable("tag"), SyncTable("book"), SyncTable("page")])

private func migrator(_ rows: String = "", isRekeying: Bool = true) -> DatabaseMigrator {
  var migrator = DatabaseMigrator()
  migrator.registerMigration("v1") { try $0.execute(sql: creation + rows) }
  if isRekeying {
    migrator.registerMigration("v2") { db in
      try db.rekeyForSync("book", identifiers: .derived(from: ["title"]))
      try db.rekeyForSync("page", identifiers: .derived(from: ["book", "n"], where: "n < 100"))
    }
  }
  return migrator
}

@Suite("Rekey: tables that sync afterwards")
struct RekeyGuestTests {
  @Test func `open names the helper, and takes what it made, with the rows that were there`() throws
  {
    var devices: [Device] = []
    for (id, rows) in [
      "INSERT INTO book VALUES (1, 'Dune'), (2, 'Emma'); "
        + "INSERT INTO page VALUES (1, 1, 7), (2, 2, 100);",
      "INSERT INTO book VALUES (1, 'Emma'), (9, 'Ulysses'); "
        + "INSERT INTO page VALUES (1, 1, 100), (5, 9, 1);",
    ].enumerated() {
      let database = try DatabaseQueue()
      for table in ["book", "page"] {
        let error = #expect(throws: SchemaError.self) {
          try Device(
            database, SyncSchema(version: 1, tables: [SyncTable(table)]), id: 1,
            migrator: migrator(rows, isRekeying: false))
        }
        #expect(error?.code == .integerRowIDKey)
        #expect(error?.message.contains("rekeyForSync(\"\(table)\")") == true)
      }
      devices.append(
        try Device(database, rekeyed, id: UInt64(id) + 1, migrator: migrator(rows)))
    }
    let (a, b) = (devices[0], devices[1])
    #expect(try a.store.counts().operations == 1)
    try meet(a, b)
    try expectEqual(a, b, "book", "page")
    #expect(try a.column("SELECT title FROM book ORDER BY 1") == ["Dune", "Emma", "Ulysses"])
    // Page 100 of Emma is not derived: each device made its own.
    #expect(
      try b.column("SELECT title || n FROM page JOIN book ON book.id = book ORDER BY 1")
        == ["Dune7", "Emma100", "Emma100", "Ulysses1"])
    try a.execute("DELETE FROM book WHERE title = 'Emma'")
    try meet(a, b)
    try expectEqual(a, b, "book", "page")
    #expect(try b.column("SELECT count(*) FROM page") == ["2"])
  }

  @Test
  func `a replica of other tables keeps its notes and goes on, and synced tables are refused`()
    throws
  {
    let rows = "INSERT INTO book VALUES (1, 'Dune'); INSERT INTO page VALUES (1, 1, 7);"
    let database = try DatabaseQueue()
    let first = SyncSchema(version: 1, tables: [SyncTable("tag")])
    var a = try Device(database, first, id: 1, migrator: migrator(rows, isRekeying: false))
    try a.execute("INSERT INTO tag VALUES ('sf', 1)")
    #expect(try a.store.counts().unsealedChanges == 1)
    a = try Device(database, rekeyed, id: 9, migrator: migrator(rows))
    let b = try Device(DatabaseQueue(), rekeyed, id: 2, migrator: migrator())
    try meet(a, b)
    try expectEqual(a, b, "tag", "book", "page")
    #expect(try b.column("SELECT name || n || title FROM tag, book") == ["sf1Dune"])

    let before = try database.dump()
    for (creation, table) in [
      (
        "CREATE TABLE number (id INTEGER PRIMARY KEY); "
          + "ALTER TABLE tag ADD COLUMN number INT REFERENCES number",
        "number"
      ),
      ("CREATE TABLE number (id INTEGER PRIMARY KEY REFERENCES tag)", "number"),
    ] {
      var migrator = migrator(rows)
      migrator.registerMigration("v3") { db in
        try db.execute(sql: creation)
        try db.rekeyForSync(table)
      }
      let error = #expect(throws: RekeyError.self) {
        try Device(database, rekeyed, id: 9, migrator: migrator)
      }
      #expect(error?.code == (creation.contains("KEY REFERENCES") ? .keyIsReference : .synced))
      #expect(try database.dump().sorted() == before.sorted())
    }
    try a.execute("UPDATE tag SET n = 2")
    #expect(try a.store.counts().unsealedChanges == 1)
  }

  @Test(.timeLimit(.minutes(1)), arguments: [true, false])
  func `observations go on over the migration, and see what is written afterwards`(_ isPool: Bool)
    async throws
  {
    let folder = FileManager.default.temporaryDirectory.path + "/rekey-\(UUID())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/app.sqlite"
    let database: any DatabaseWriter =
      try isPool ? DatabasePool(path: path) : DatabaseQueue(path: path)
    try migrator("INSERT INTO book VALUES (1, 'Dune');", isRekeying: false).migrate(database)
    let observation = ValueObservation.tracking {
      try String.fetchAll($0, sql: "SELECT title || typeof(id) FROM book ORDER BY 1")
    }
    var values = observation.values(in: database).makeAsyncIterator()
    func expectNext(_ expected: [String]) async throws {
      while let next = try await values.next() {
        if next == expected { return }
      }
      Issue.record("the observation ended")
    }
    try await expectNext(["Duneinteger"])
    let a = try Device(database, rekeyed, id: 1, migrator: migrator())
    try await expectNext(["Dunetext"])
    try a.execute("INSERT INTO book VALUES ('e', 'Emma')")
    try await expectNext(["Dunetext", "Emmatext"])
  }

  @Test func `100,000 rows take time in proportion, and the file is sound`() throws {
    var seconds: [Double] = []
    for count in [10_000, 100_000] {
      try withTemporaryFolder { folder in
        let path = folder + "/app.sqlite"
        let database = try DatabaseQueue(path: path)
        try database.write { db in
          try db.execute(sql: creation + "CREATE INDEX pages ON page (book, n) WHERE n > 5;")
          try db.execute(
            sql: """
              WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ?)
              INSERT INTO book SELECT n, 'title ' || n FROM c
              """, arguments: [count])
          try db.execute(sql: "INSERT INTO page SELECT id + 7, id, id % 10 FROM book")
          let start = clock()
          try db.rekeyForSync("book")
          seconds.append(Double(clock() - start) / Double(CLOCKS_PER_SEC))
        }
        #expect(
          try database.lines(
            "SELECT count(*), sum(page.id - 7), sum(title = 'title ' || (page.id - 7)) "
              + "FROM page JOIN book ON book.id = book")
            == ["\(count)|\(count * (count + 1) / 2)|\(count)"])
        try database.close()
        let checks = ["PRAGMA integrity_check", "PRAGMA foreign_key_check"]
        #expect(try sqlite3(path, checks) == "ok\n")
      }
    }
    // In proportion is 10; with a search through all rows for each it would be 100.
    #expect(seconds[1] < seconds[0] * 30, "\(seconds)")
  }
}
