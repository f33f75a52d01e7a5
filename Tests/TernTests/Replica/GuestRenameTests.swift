import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE book (isbn TEXT NOT NULL PRIMARY KEY, title TEXT, scans INTEGER NOT NULL DEFAULT 0,
    tags TEXT NOT NULL DEFAULT '[]');
  CREATE TABLE copy (id TEXT NOT NULL PRIMARY KEY,
    book TEXT REFERENCES book (isbn) ON DELETE CASCADE)
  """
private let rename = "ALTER TABLE book RENAME TO volume"

private func schema(
  _ version: UInt32, _ name: String, from former: [String] = [],
  deletes: DeleteRule = .updateWins, renamed: [String: String] = [:]
) -> SyncSchema {
  SyncSchema(
    version: version,
    tables: [
      SyncTable(
        name, merge: ["scans": .counter, "tags": .set], deletes: deletes,
        formerColumnNames: renamed,
        formerNames: former),
      SyncTable("copy"),
    ])
}

private let v1 = schema(1, "book")
private let v2 = schema(2, "volume", from: ["book"])

/// Two devices with the table's first name, equal.
private func pair() throws -> (Device, Device) {
  let (a, b) = try Device.pair(v1, creation)
  try a.commit(
    """
    INSERT INTO book VALUES ('1', 'Dune', 2, '["old"]'), ('2', 'Emma', 0, '[]');
    INSERT INTO copy VALUES ('c', '1')
    """)
  try meet(a, b)
  return (a, b)
}

@Suite("Replica: renamed tables")
struct GuestRenameTests {
  @Test func `a renamed table keeps its states and merges what peers write under either name`()
    throws
  {
    var (a, b) = try pair()
    let before = try a.store.canonicalState().filter { $0.table == "book" }
    a = try a.upgraded(v2, rename)
    #expect(try a.store.counts().operations == 1)
    let after = try a.store.canonicalState().filter { $0.table == "volume" }
    #expect(after.map(\.key) == before.map(\.key) && after.map(\.cells) == before.map(\.cells))

    try b.commit(
      """
      UPDATE book SET title = 'b', scans = scans + 1, tags = '["old","b"]' WHERE isbn = '1';
      INSERT INTO book VALUES ('3', 'new', 1, '[]'); INSERT INTO copy VALUES ('d', '3');
      DELETE FROM book WHERE isbn = '2'
      """)
    try a.pull(from: b)
    let rows = "SELECT isbn || title || scans || tags FROM volume ORDER BY isbn"
    #expect(try a.column(rows) == [#"1b3["b","old"]"#, "3new1[]"])
    #expect(try a.column("SELECT id FROM copy ORDER BY id") == ["c", "d"])
    #expect(try a.store.counts().pending[.schema] == 0)

    try a.commit(
      """
      UPDATE volume SET scans = scans + 4, title = 'a' WHERE isbn = '1';
      INSERT INTO volume VALUES ('4', 'newer', 5, '[]'); INSERT INTO copy VALUES ('e', '4');
      DELETE FROM volume WHERE isbn = '3'
      """)
    try b.pull(from: a)
    // The older one keeps what it does not know yet, and the child of that waits.
    #expect(try b.store.counts().pending[.schema] == 1)
    #expect(try b.column("SELECT isbn || scans FROM book ORDER BY isbn") == ["13", "31"])
    #expect(try b.column("SELECT id FROM copy ORDER BY id") == ["c"])
    for _ in 1...2 {
      b = try b.upgraded(v2, rename)
      #expect(try b.store.counts().pending[.schema] == 0)
      #expect(try b.column(rows) == [#"1a7["b","old"]"#, "4newer5[]"])
    }
    try meet(a, b)
    #expect(try b.column("SELECT id FROM copy ORDER BY id") == ["c", "e"])
    try expectEqual(a, b, "volume", "copy")
  }

  @Test(arguments: [
    [rename],
    [rename, "ALTER TABLE volume RENAME COLUMN title TO name"],
    [
      """
      CREATE TABLE volume (isbn TEXT NOT NULL PRIMARY KEY, title TEXT,
        scans INTEGER NOT NULL DEFAULT 0, tags TEXT NOT NULL DEFAULT '[]');
      INSERT INTO volume SELECT * FROM book;
      CREATE TABLE new (id TEXT NOT NULL PRIMARY KEY,
        book TEXT REFERENCES volume (isbn) ON DELETE CASCADE);
      INSERT INTO new SELECT * FROM copy;
      DROP TABLE copy;
      ALTER TABLE new RENAME TO copy;
      DROP TABLE book;
      """
    ],
  ])
  func `a table is renamed in place, with its columns, or by building it again`(_ steps: [String])
    throws
  {
    var (a, b) = try pair()
    let title = steps.count == 2 ? "name" : "title"
    let newer = schema(
      2, "volume", from: ["book"], renamed: title == "name" ? ["name": "title"] : [:])
    var migrator = DatabaseMigrator.steps(steps)
    // Written right before, as the migration's notes are of the former name.
    try a.execute("UPDATE book SET title = 'noted', scans = 9 WHERE isbn = '1'")
    a = try Device(a.database, newer, id: 9, migrator: migrator)
    #expect(try a.store.counts().operations == 2)
    // The app migrates by itself, and opens later.
    try b.execute("UPDATE book SET tags = '[]' WHERE isbn = '1'")
    migrator = .steps(steps)
    try migrator.migrate(b.database)
    b = try Device(b.database, newer, id: 9)
    #expect(try b.store.counts().operations == 2)
    try meet(a, b)
    let row = "SELECT \(title) || scans || tags FROM volume WHERE isbn = '1'"
    #expect(try a.column(row) == ["noted9[]"])
    try a.commit("UPDATE volume SET \(title) = 'last'")
    try meet(a, b)
    #expect(try b.column(row) == ["last9[]"])
    try expectEqual(a, b, "volume")
  }

  @Test func `a table that was renamed twice merges what its first name's peers write`() throws {
    var (a, b) = try pair()
    a = try a.upgraded(v2, rename)
    let v3 = schema(3, "Work", from: ["book", "volume"])
    a = try a.upgraded(v3, rename, "ALTER TABLE volume RENAME TO Work")
    try b.commit("UPDATE book SET scans = scans + 1")
    try a.pull(from: b)
    #expect(try a.column("SELECT scans FROM work ORDER BY isbn") == ["3", "1"])
    // From the first to the last at once.
    b = try b.upgraded(v3, rename, "ALTER TABLE volume RENAME TO Work")
    try meet(a, b)
    try expectEqual(a, b, "Work", "copy")
  }

  @Test func `a snapshot of an older version is loaded under the new name`() throws {
    let (a, b) = try pair()
    try b.commit("UPDATE book SET scans = scans + 5 WHERE isbn = '1'")
    let new = try Device(v2, id: 3) { try $0.execute(sql: creation + ";" + rename) }
    try new.execute("INSERT INTO volume VALUES ('7', 'own', 1, '[]')")
    try new.load(Parts(of: b))
    #expect(try new.column("SELECT scans FROM volume ORDER BY isbn") == ["7", "0", "1"])
    #expect(try new.column("SELECT book FROM copy") == ["1"])
    let c = try a.upgraded(v2, rename)
    try c.pull(from: b)
    try meet(c, new)
    try expectEqual(c, new, "volume", "copy")
  }

  @Test(arguments: [
    ["ALTER TABLE loan RENAME COLUMN person TO member"],
    [
      """
      CREATE TABLE new (book TEXT NOT NULL, member TEXT NOT NULL, days INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (book, member));
      INSERT INTO new SELECT * FROM loan;
      DROP TABLE loan;
      ALTER TABLE new RENAME TO loan
      """
    ],
  ])
  func `a renamed key column is a rename like any other`(_ steps: [String]) throws {
    let creation = """
      CREATE TABLE loan (book TEXT NOT NULL, person TEXT NOT NULL, days INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (book, person))
      """
    let former = SyncSchema(version: 1, tables: [SyncTable("loan", merge: ["days": .counter])])
    let today = SyncSchema(
      version: 2,
      tables: [
        SyncTable(
          "loan", merge: ["days": .counter], formerColumnNames: ["member": "person"])
      ])
    var (a, b) = try Device.pair(former, creation)
    try a.commit("INSERT INTO loan VALUES ('dune', 'anna', 1), ('emma', 'ben', 2)")
    try meet(a, b)
    let before = try a.store.canonicalState()
    // Written right before, and by an app that migrates by itself.
    try a.execute("UPDATE loan SET days = days + 1 WHERE book = 'dune'")
    try b.execute("INSERT INTO loan VALUES ('emma', 'carl', 7)")
    let refused = #expect(throws: SchemaError.self) {
      let silent = SyncSchema(version: 2, tables: [SyncTable("loan", merge: ["days": .counter])])
      _ = try a.upgraded(silent, steps[0])
    }
    #expect(refused?.code == .changedKey && refused?.message.contains("formerColumnNames") ?? false)
    for _ in 1...2 { a = try Device(a.database, today, id: 9, migrator: .steps(steps)) }
    #expect(try a.store.canonicalState().map(\.key) == before.map(\.key))
    #expect(try a.store.counts().operations == 2)
    try a.pull(from: b)
    try b.pull(from: a)
    // The older one keeps what it does not know yet.
    #expect(try a.column("SELECT days FROM loan ORDER BY book, member") == ["2", "2", "7"])
    #expect(try b.store.counts().pending[.schema] == 0)
    try a.commit("UPDATE loan SET days = days + 10")
    try b.pull(from: a)
    #expect(try b.store.counts().pending[.schema] == 1)
    let parts = try Parts(of: b)
    b = try Device(b.database, today, id: 9, migrator: .steps(steps))
    #expect(try b.store.counts().pending[.schema] == 0)
    try meet(a, b)
    try expectEqual(a, b, "loan")
    #expect(try b.column("SELECT days FROM loan ORDER BY book, member") == ["12", "12", "17"])
    // A snapshot of the older version.
    let new = try Device(today, id: 3) {
      try $0.execute(sql: creation + ";" + steps[0])
    }
    try new.load(parts)
    #expect(try new.column("SELECT member FROM loan ORDER BY 1") == ["anna", "ben", "carl"])
    try meet(a, new)
    try expectEqual(a, new, "loan")
  }

  @Test func `a key column's former name can be another column's by now`() throws {
    let creation = "CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, body TEXT)"
    var (a, b) = try Device.pair(SyncSchema(version: 1, tables: [SyncTable("note")]), creation)
    try a.commit("INSERT INTO note VALUES ('1', 'one')")
    try meet(a, b)
    let steps = ["ALTER TABLE note RENAME COLUMN id TO uid", "ALTER TABLE note ADD COLUMN id TEXT"]
    let today = SyncSchema(
      version: 3, tables: [SyncTable("note", formerColumnNames: ["uid": "id"])])
    a = try a.upgraded(today, steps[0], steps[1])
    try b.commit("UPDATE note SET body = 'two'; INSERT INTO note VALUES ('2', 'three')")
    try a.pull(from: b)
    #expect(try a.column("SELECT uid || body FROM note ORDER BY 1") == ["1two", "2three"])
    b = try b.upgraded(today, steps[0], steps[1])
    try a.commit("UPDATE note SET id = 'x'")
    try meet(a, b)
    try expectEqual(a, b, "note")
  }

  @Test func `what was written under the former name is explained, undone and restored`()
    async throws
  {
    var (a, b) = try pair()
    try a.commit("UPDATE book SET title = 'a' WHERE isbn = '1'")
    try b.commit("UPDATE book SET title = 'b' WHERE isbn = '1'")
    try meet(a, b)
    #expect(try a.column("SELECT title FROM book WHERE isbn = '1'") == ["b"])
    a = try a.upgraded(v2, rename)
    let changes = try await a.replica.history("volume", key: ["1"]).changes
    #expect(changes.map(\.kind) == [.insert, .update, .update])
    #expect(changes.allSatisfy { $0.isMerged && !$0.columns.contains(where: \.isDeferred) })
    let row = try await a.replica.explain("volume", key: ["1"])
    #expect(row.columns.first { $0.name == "title" }?.value == "b")
    let lost = try #require(try await a.replica.inbox().first)
    #expect(lost.table == "volume" && lost.values["title"] == "a")
    try await a.replica.restore(lost)
    #expect(try a.column("SELECT title FROM volume WHERE isbn = '1'") == ["a"])
    // The restored value first, then what was written under the former name.
    #expect(try a.store.undo() != nil)
    #expect(try a.store.undo() != nil)
    #expect(try a.store.undo()?.rows.map(\.table).sorted() == ["copy", "volume", "volume"])
    #expect(try a.column("SELECT isbn FROM volume") == ["1"])
    b = try b.upgraded(v2, rename)
    try meet(a, b)
    try expectEqual(a, b, "volume", "copy")
  }

  @Test func `what the schema says of former names is checked`() throws {
    let (a, b) = try pair()
    func refused(_ device: Device, _ schema: SyncSchema, _ steps: String...) -> SchemaError? {
      #expect(throws: SchemaError.self) {
        _ = try Device(device.database, schema, id: 9, migrator: .steps(steps))
      }
    }
    let state = try a.store.canonicalState()
    // Nothing was renamed: the new table stands beside the old one.
    let copied = "CREATE TABLE volume AS SELECT * FROM book"
    var error = refused(a, v2, copied)
    #expect(error?.code == .renamedTable && error?.table == "volume")
    #expect(error?.message.contains("“book”") ?? false)
    try a.execute("DROP TABLE volume")
    for tables in [
      [SyncTable("book", formerNames: ["copy"]), SyncTable("copy")],
      [SyncTable("book", formerNames: ["BOOK"])],
      [SyncTable("book", formerNames: ["x"]), SyncTable("copy", formerNames: ["X"])],
    ] {
      #expect(refused(a, SyncSchema(version: 2, tables: tables))?.code == .duplicateTable)
    }
    let again = try Device(a.database, v1, id: 9)
    #expect(try again.store.canonicalState() == state)
    try again.commit("UPDATE book SET scans = scans + 1")
    try meet(again, b)
    try expectEqual(again, b, "book", "copy")
    // A name that another table had, whose states are kept.
    let alone = SyncSchema(version: 2, tables: [v1.tables[0]])
    _ = try Device(b.database, alone, id: 9, migrator: .steps(["DROP TABLE copy"]))
    let taken = SyncSchema(version: 3, tables: [SyncTable("copy", formerNames: ["book"])])
    error = refused(b, taken, "DROP TABLE copy", "ALTER TABLE book RENAME TO copy")
    #expect(error?.code == .renamedTable && error?.table == "copy")
  }

  @Test(arguments: [
    ("volume", ["book"], [rename]),
    ("work", ["book", "volume"], [rename, "ALTER TABLE volume RENAME TO work"]),
  ])
  func `a rename that was said too late is taken where the table was empty`(
    _ name: String, _ former: [String], _ steps: [String]
  ) throws {
    var (a, b) = try Device.pair(v1, creation)
    let silent = schema(2, "volume")
    b = try b.upgraded(silent, rename)
    try a.commit("INSERT INTO book VALUES ('1', 'Dune', 2, '[]')")
    try b.commit("INSERT INTO volume VALUES ('2', 'Emma', 1, '[]')")
    try b.pull(from: a)
    #expect(try b.store.counts().pending[.schema] == 1)
    let error = #expect(throws: SchemaError.self) { try a.upgraded(silent, rename) }
    #expect(error?.code == .renamedTable)

    let said = schema(3, name, from: former)
    for _ in 1...2 {
      a = try Device(a.database, said, id: 9, migrator: .steps(steps))
      b = try Device(b.database, said, id: 9, migrator: .steps(steps))
    }
    #expect(try b.store.counts().pending[.schema] == 0)
    try meet(a, b)
    for device in [a, b] { try device.commit("UPDATE \(name) SET scans = scans + 1") }
    try meet(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT isbn || scans FROM \(name) ORDER BY 1") == ["14", "23"])
    }
    try expectEqual(a, b, name, "copy")
  }

  @Test(arguments: [
    "CREATE TABLE book (isbn TEXT NOT NULL PRIMARY KEY, title TEXT)",
    "CREATE TABLE book (id TEXT NOT NULL PRIMARY KEY, isbn, title, scans, tags)",
    "CREATE VIEW book AS SELECT * FROM volume",
  ])
  func `a table is renamed although its former name is another's by now`(_ another: String) throws {
    var (a, b) = try pair()
    let v3 = schema(3, "volume", from: ["book"])
    a = try a.upgraded(v2, rename)
    a = try a.upgraded(v3, rename, another)
    b = try b.upgraded(v3, rename, another)
    for device in [a, b] {
      #expect(try device.store.counts().operations == 1)
      try device.commit("UPDATE volume SET scans = scans + 1")
    }
    try meet(a, b)
    #expect(try b.column("SELECT scans FROM volume ORDER BY isbn") == ["4", "2"])
    try expectEqual(a, b, "volume", "copy")
  }

  @Test func `a former name is not taken from a table that may be the one that synced`() throws {
    let (a, _) = try pair()
    let again = try #require(creation.split(separator: ";").first.map(String.init))
    let error = #expect(throws: SchemaError.self) { try a.upgraded(v2, rename, again) }
    #expect(error?.code == .renamedTable && error?.table == "volume")
    // Its rows would be adopted anew.
    #expect(error?.message.contains("only if this table has none of its rows") ?? false)
  }

  @Test func `a name that no table of this device had is of peers alone`() throws {
    let (a, b) = (
      try Device(v2, id: 1) { try $0.execute(sql: creation + ";" + rename) },
      try Device(v1, id: 2) { try $0.execute(sql: creation) }
    )
    try b.commit("INSERT INTO book VALUES ('1', 'Dune', 2, '[]')")
    try a.pull(from: b)
    #expect(try a.column("SELECT title FROM volume") == ["Dune"])
    // Its own again, for another purpose, and not synced.
    try a.execute("CREATE TABLE book (id INTEGER PRIMARY KEY)")
    let again = try Device(a.database, v2, id: 9)
    try b.commit("UPDATE book SET scans = 3")
    try again.pull(from: b)
    #expect(try again.column("SELECT scans FROM volume") == ["3"])
  }
}
