import Foundation
import GRDB
import Tern
import Testing

@Suite("Rekey: new keys, and the references to them")
struct RekeyTests {
  @Test func `every reference follows, declared or named, through joins, other keys and itself`()
    throws
  {
    let database = try queue(integerLibrary)
    let before = try libraryContent.map(database.lines)
    let report = try database.write { db in
      try db.rekeyForSync("author")
      return try db.rekeyForSync("BOOK", references: [RekeyedColumn("visit", "BOOK_number")])
    }
    #expect(try libraryContent.map(database.lines) == before)
    #expect(report.rows == 3)
    #expect(
      report.columns.map { "\($0.table).\($0.column)" } == [
        "book.id", "book.sequel_of", "book_author.book_id", "cover.book_id", "credit.book",
        "scan.cover", "scan.book", "visit.book_number",
      ])
    for column in report.columns {
      let types =
        "SELECT DISTINCT typeof(\(column.column)) FROM \(column.table) "
        + "WHERE \(column.column) IS NOT NULL"
      #expect(try database.lines(types) == ["\"text\""], "\(column)")
      let type =
        "SELECT type FROM pragma_table_info('\(column.table)') WHERE name = '\(column.column)'"
      #expect(try database.lines(type) == ["\"TEXT\""], "\(column)")
    }
    #expect(try database.lines("PRAGMA integrity_check") == ["\"ok\""])
    #expect(try database.lines("PRAGMA foreign_key_check").isEmpty)
    // The actions act: a cascade, and one that sets NULL.
    try database.write { db in
      try db.execute(sql: "DELETE FROM credit; DELETE FROM scan; DELETE FROM cover")
      try db.execute(sql: "DELETE FROM book WHERE title = 'Dune'")
    }
    #expect(try database.lines("SELECT count(*) FROM book_author") == ["2"])
    #expect(try database.lines("SELECT sequel_of FROM book WHERE title = 'Messiah'") == ["NULL"])
    #expect(throws: DatabaseError.self) {
      try database.write { try $0.execute(sql: "DELETE FROM author") }
    }
    // A table that keeps its number goes on counting where it was.
    try database.write { try $0.execute(sql: "INSERT INTO credit (role) VALUES ('new')") }
    #expect(try database.lines("SELECT n FROM credit") == ["11"])
  }

  @Test(arguments: [false, true])
  func `a migration re-keys with foreign keys deferred or immediate`(_ isImmediate: Bool) throws {
    let database = try queue(integerLibrary)
    let before = try libraryContent.map(database.lines)
    var migrator = DatabaseMigrator()
    migrator.registerMigration(
      "rekey", foreignKeyChecks: isImmediate ? .immediate : .deferred
    ) { db in
      #expect(try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") == isImmediate)
      try db.rekeyForSync("author")
      try db.rekeyForSync("book", references: [RekeyedColumn("visit", "book_number")])
      #expect(try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") == isImmediate)
      #expect(try Bool.fetchOne(db, sql: "PRAGMA legacy_alter_table") == false)
    }
    try migrator.migrate(database)
    #expect(try libraryContent.map(database.lines) == before)
    #expect(throws: DatabaseError.self) {
      try database.write { try $0.execute(sql: "INSERT INTO cover VALUES ('nobody', 'red')") }
    }
  }

  @Test func `identifiers are stored as the app's records do: uppercase, lowercase or 16 bytes`()
    throws
  {
    for storage in [RekeyStorage.uppercaseText, .lowercaseText, .blob] {
      let database = try queue(
        """
        CREATE TABLE a (id INTEGER PRIMARY KEY, n INT) STRICT;
        CREATE TABLE b (a INT REFERENCES a) STRICT;
        INSERT INTO a VALUES (7, 1), (8, 2); INSERT INTO b VALUES (8), (NULL);
        """)
      try database.write {
        _ = try $0.rekeyForSync("a", identifiers: countingIdentifiers(), storage: storage)
      }
      let type = storage == .blob ? "blob" : "text"
      #expect(
        try database.lines("SELECT n, typeof(id) FROM a JOIN b ON b.a = a.id") == ["2|\"\(type)\""])
      let identifiers = try database.read {
        try UUID.fetchAll($0, sql: "SELECT id FROM a ORDER BY n")
      }
      #expect(
        identifiers.map(\.uuidString) == [
          "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002",
        ])
    }
    let letters = try queue(
      "CREATE TABLE a (id INTEGER PRIMARY KEY); INSERT INTO a VALUES (1), (2), (3), (4)")
    try letters.write { _ = try $0.rekeyForSync("a", storage: .lowercaseText) }
    #expect(try letters.lines("SELECT 1 FROM a WHERE id <> lower(id)").isEmpty)
    #expect(try letters.lines("SELECT count(DISTINCT id), sum(length(id)) FROM a") == ["4|144"])
  }

  @Test func `rows that two devices hold already get one identifier on both`() throws {
    let devices = try [(1, 2), (2, 1)].map { herbert, austen in
      try queue(
        """
        CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT,
          author INT NOT NULL REFERENCES author);
        INSERT INTO author VALUES (\(herbert), 'Frank Herbert'), (\(austen), 'Jane Austen');
        INSERT INTO book VALUES (1, 'Poems', 1), (2, 'Poems', 2);
        """)
    }
    for device in devices {
      try device.write { db in
        try db.rekeyForSync("author", identifiers: .derived(from: ["name"]))
        try db.rekeyForSync("book", identifiers: .derived(from: ["title", "author"]))
      }
    }
    for sql in ["SELECT * FROM author ORDER BY id", "SELECT * FROM book ORDER BY id"] {
      #expect(try devices[0].lines(sql) == devices[1].lines(sql))
    }
    // For good: devices migrate years apart. Computed by another program.
    #expect(
      try devices[0].lines("SELECT id FROM author WHERE name = 'Frank Herbert'")
        == ["\"FE0C5952-4E77-8095-AADF-AA689D78E000\""])
  }

  @Test func `identifiers count values by type and bytes, and a namespace tells them apart`() throws
  {
    let database = try queue(
      "CREATE TABLE Author (id INTEGER PRIMARY KEY, real REAL, text TEXT, blob BLOB); "
        + "INSERT INTO author VALUES (7, 1.5, 'é', X'00FF')")
    let other = try queue(
      "CREATE TABLE author (id INTEGER PRIMARY KEY, real REAL, text TEXT, blob BLOB); "
        + "INSERT INTO author VALUES (7, 1.5, 'é', X'00FF')")
    let columns = ["id", "real", "text", "blob"]
    try database.write {
      _ = try $0.rekeyForSync(
        "Author", identifiers: .derived(from: columns, namespace: "edition 2"))
    }
    try other.write { _ = try $0.rekeyForSync("author", identifiers: .derived(from: columns)) }
    let id = try database.lines("SELECT id FROM author")
    #expect(id == ["\"9D30D873-CACF-8EFB-9A70-6678DCE6073F\""])
    #expect(try other.lines("SELECT id FROM author") != id)
  }

  @Test func `rows outside of a condition get random identifiers`() throws {
    let devices = try (0..<2).map { _ in
      try queue(
        "CREATE TABLE word (id INTEGER PRIMARY KEY, text); "
          + "INSERT INTO word VALUES (1, 'bundled'), (2, 'bundled'), (3, 'own'), (4, NULL)")
    }
    for device in devices {
      try device.write {
        _ = try $0.rekeyForSync(
          "word", identifiers: .derived(from: ["id"], where: "id <= 2 OR text IS NULL AND 0"))
      }
    }
    let shared = "SELECT id FROM word WHERE text = 'bundled' ORDER BY 1"
    let own = "SELECT id FROM word WHERE text = 'own' OR text IS NULL ORDER BY 1"
    #expect(try devices[0].lines(shared) == devices[1].lines(shared))
    #expect(try Set(devices[0].lines(own) + devices[1].lines(own)).count == 4)
  }

  @Test func `a condition is true where SQL holds it true`() throws {
    let devices = try (0..<2).map { _ in
      try queue(
        "CREATE TABLE word (id INTEGER PRIMARY KEY, score); "
          + "INSERT INTO word VALUES (1, 0.5), (2, 1), (3, 0), (4, NULL), (5, 'none')")
    }
    for device in devices {
      try device.write {
        _ = try $0.rekeyForSync("word", identifiers: .derived(from: ["score"], where: "score"))
      }
    }
    let ids = try devices.map { try Set($0.lines("SELECT id FROM word")) }
    #expect(ids[0].intersection(ids[1]).count == 2)
  }

  @Test func `a table without a key gets one at its end`() throws {
    let database = try queue(
      """
      CREATE TABLE note (body TEXT, n -- how many
        , CHECK (n > 0) CONSTRAINT twice UNIQUE (n) /* once */ );
      CREATE TABLE pin (note INTEGER);
      INSERT INTO note (rowid, body, n) VALUES (40, 'a', 1), (20, 'b', 2);
      INSERT INTO pin VALUES (20);
      """)
    try database.write {
      _ = try $0.rekeyForSync(
        "note", addedKey: "note id", references: [RekeyedColumn("pin", "note")])
    }
    #expect(
      try database.lines("SELECT body, n FROM note JOIN pin ON note = \"note id\"") == ["\"b\"|2"])
    #expect(
      try database.lines("SELECT body, rowid FROM note ORDER BY rowid") == ["\"b\"|20", "\"a\"|40"])
    #expect(
      try database.declaration("note") == """
        CREATE TABLE note (body TEXT, n, "note id" TEXT NOT NULL PRIMARY KEY -- how many
          , CHECK (n > 0) CONSTRAINT twice UNIQUE (n) /* once */ )
        """)
    let derived = try queue("CREATE TABLE note (body); INSERT INTO note VALUES ('a'), ('a')")
    try derived.write { _ = try $0.rekeyForSync("note", identifiers: .derived(from: ["rowid"])) }
    #expect(try derived.lines("SELECT count(DISTINCT id) FROM note") == ["2"])
  }

  @Test func `a migrator that erases on schema changes does so only once`() throws {
    var migrator = DatabaseMigrator()
    migrator.eraseDatabaseOnSchemaChange = true
    migrator.registerMigration("v1") { try $0.execute(sql: integerLibrary) }
    let database = try DatabaseQueue()
    try migrator.migrate(database)
    migrator.registerMigration("v2") { db in
      try db.rekeyForSync("author")
      try db.rekeyForSync("book")
    }
    try migrator.migrate(database)
    let keys = try database.lines("SELECT id FROM book")
    try migrator.migrate(database)
    #expect(try database.lines("SELECT id FROM book") == keys)
    #expect(keys.count == 3)
  }
}
