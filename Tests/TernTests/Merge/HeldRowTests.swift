import GRDB
import Synchronization
import Tern
import TestDevice
import Testing

/// An app's log of what came to a table and went from it.
private func audit(_ table: String) -> String {
  """
  CREATE TRIGGER \(table)_came AFTER INSERT ON \(table) BEGIN
    INSERT INTO audit VALUES ('\(table) came ' || NEW.id);
  END;
  CREATE TRIGGER \(table)_went AFTER DELETE ON \(table) BEGIN
    INSERT INTO audit VALUES ('\(table) went ' || OLD.id);
  END;
  """
}

private func devices(_ creation: String, audited: String..., tables: String...) throws -> (
  Device, Device
) {
  let sql = creation + "CREATE TABLE audit (what);" + audited.map(audit).joined()
  return try Device.pair(SyncSchema(version: 1, tables: tables.map { SyncTable($0) }), sql)
}

extension Device {
  /// What the app's triggers saw since this was last asked.
  fileprivate func seen() throws -> [String?] {
    let seen = try column("SELECT what FROM audit ORDER BY rowid")
    try execute("DELETE FROM audit")
    return seen
  }

  fileprivate var heldBy: [String?] {
    get throws { try column("SELECT reason FROM grdb_tern_main_held ORDER BY tbl, key") }
  }
}

/// Both write something, and meet, as often as said.
private func goOn(_ a: Device, _ b: Device, _ rounds: Int = 3) throws {
  for _ in 1...rounds {
    for device in [a, b] {
      try device.store.write {
        try $0.execute(sql: "INSERT INTO other VALUES (hex(randomblob(8)))")
      }
    }
    try meet(a, b)
  }
}

private let other = "CREATE TABLE other (id TEXT NOT NULL PRIMARY KEY);"
private let shelves = "CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY, code TEXT);" + other

private let references: [String] = [
  "\(shelves) CREATE TABLE book (id TEXT NOT NULL PRIMARY KEY, shelf TEXT REFERENCES shelf, n)",
  "\(shelves) CREATE TABLE book (id TEXT NOT NULL PRIMARY KEY, shelf REFERENCES shelf, n)",
  """
  \(shelves) CREATE UNIQUE INDEX codes ON shelf (code COLLATE NOCASE);
  CREATE TABLE book (id TEXT NOT NULL PRIMARY KEY, shelf TEXT REFERENCES shelf (id), n)
  """,
  """
  \(other) CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY, code TEXT COLLATE NOCASE UNIQUE);
  CREATE TABLE book (id TEXT NOT NULL PRIMARY KEY, shelf TEXT REFERENCES shelf (code), n)
  """,
  """
  \(shelves) CREATE UNIQUE INDEX places ON shelf (code, id);
  CREATE TABLE book (id TEXT NOT NULL PRIMARY KEY, shelf TEXT, n TEXT,
    FOREIGN KEY (n, shelf) REFERENCES shelf (code, id))
  """,
]

/// A row that stays quarantined is left alone: the app's triggers and observers see nothing of it.
@Suite("Merge: rows that are quarantined", .timeLimit(.minutes(1)))
struct HeldRowTests {
  /// Shelves, and books on one of them while the other device deletes it.
  private func orphaned(_ creation: String, books: String) throws -> (Device, Device) {
    // A key that is a number too.
    let (a, b) = try devices(
      creation + ";CREATE TABLE page (id TEXT NOT NULL PRIMARY KEY, book TEXT REFERENCES book);",
      audited: "book", "page", tables: "shelf", "book", "page", "other")
    try a.commit("INSERT INTO shelf VALUES ('1e3', '1E3'), ('t', 'T')")
    try meet(a, b)
    try b.commit("DELETE FROM shelf WHERE id = '1e3'")
    try a.commit(books)
    try meet(a, b)
    return (a, b)
  }

  @Test(arguments: references)
  func `triggers and observers see nothing of children of a deleted parent`(_ creation: String)
    throws
  {
    let (a, b) = try orphaned(
      creation,
      books: """
        WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 149)
          INSERT INTO book SELECT 'b' || i, '1e3', '1E3' FROM n;
        INSERT INTO book VALUES ('u', 't', 'T'), ('v', NULL, NULL);
        INSERT INTO page VALUES ('1', 'b100'), ('2', 'u');
        """)
    for device in [a, b] {
      #expect(try device.column("SELECT id FROM book ORDER BY id") == ["u", "v"])
      #expect(try device.column("SELECT id FROM page") == ["2"])
      _ = try device.seen()
    }
    let told = Mutex(0)
    let observation = DatabaseRegionObservation(tracking: Table("book"), Table("page")).start(
      in: a.database, onError: { _ in }, onChange: { _ in told.withLock { $0 += 1 } })
    for id in 1...3 {
      try a.store.write { try $0.execute(sql: "INSERT INTO other VALUES ('\(id)')") }
    }
    observation.cancel()
    #expect(told.withLock { $0 } == 0)
    try goOn(a, b)
    for device in [a, b] { #expect(try device.seen() == []) }
    try a.commit("INSERT INTO shelf VALUES ('1e3', '1E3')")
    try meet(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT count(*) FROM book") == ["52"])
      #expect(try device.column("SELECT id FROM page ORDER BY id") == ["1", "2"])
      #expect(try device.seen().count == 51)
    }
    try expectEqual(a, b, "shelf", "book", "page")
  }

  @Test func `what is shown again with its parents comes once, and parents come first`() throws {
    let (a, b) = try orphaned(
      shelves + "CREATE TABLE book (id TEXT NOT NULL PRIMARY KEY, shelf TEXT REFERENCES shelf, n);",
      books: "INSERT INTO book VALUES ('b', '1e3', 1); INSERT INTO page VALUES ('1', 'b')")
    for device in [a, b] { _ = try device.seen() }
    try b.commit("INSERT INTO shelf VALUES ('1e3', 'again')")
    try a.pull(from: b)
    for device in [a, b] { #expect(try device.seen() == ["book came b", "page came 1"]) }
    try expectEqual(a, b, "shelf", "book", "page")
  }

  @Test func `children of a row that lost its UNIQUE place are left alone, until it has it back`()
    throws
  {
    let (a, b) = try devices(
      """
      CREATE TABLE project (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE);
      CREATE TABLE task (id TEXT NOT NULL PRIMARY KEY, project TEXT REFERENCES project);
      CREATE TABLE step (id TEXT NOT NULL PRIMARY KEY, task TEXT REFERENCES task);
      """ + other, audited: "task", "step", tables: "step", "task", "project", "other")
    try a.commit("INSERT INTO project VALUES ('p', 'same'); INSERT INTO task VALUES ('1', 'p')")
    try b.commit(
      """
      INSERT INTO project VALUES ('q', 'same'); INSERT INTO task VALUES ('2', 'q');
      INSERT INTO step VALUES ('x', '2')
      """)
    try meet(a, b)
    try meet(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT id FROM task") == ["1"])
      #expect(try device.heldBy == ["parent", "parent", "unique"])
      _ = try device.seen()
    }
    try goOn(a, b)
    for device in [a, b] { #expect(try device.seen() == []) }
    // In one merge the place becomes free, and more comes to what waits for it.
    try a.commit("UPDATE project SET name = 'other' WHERE id = 'p'")
    try b.pull(from: a)
    #expect(try b.seen() == ["task came 2", "step came x"])
    try meet(a, b)
    for device in [a, b] { #expect(try device.column("SELECT count(*) FROM step") == ["1"]) }
    try expectEqual(a, b, "project", "task", "step")
  }

  @Test func `what displaces another in one merge has its children, and the other loses its own`()
    throws
  {
    let (a, b) = try devices(
      """
      CREATE TABLE project (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE);
      CREATE TABLE task (id TEXT NOT NULL PRIMARY KEY, project TEXT REFERENCES project);
      """ + other, audited: "task", tables: "task", "project", "other")
    try b.commit("INSERT INTO project VALUES ('p', 'same'); INSERT INTO task VALUES ('1', 'p')")
    try a.commit("INSERT INTO project VALUES ('q', 'same'); INSERT INTO task VALUES ('2', 'q')")
    try meet(a, b)
    try meet(a, b)
    let standing = try a.column("SELECT project FROM task")
    #expect(standing.count == 1)
    for device in [a, b] { #expect(try device.column("SELECT id FROM project") == standing) }
    try expectEqual(a, b, "project", "task")
    for device in [a, b] { _ = try device.seen() }
    try goOn(a, b)
    for device in [a, b] { #expect(try device.seen() == []) }
  }

  @Test func `a child that came before its parent is shown with it, where that displaces another`()
    throws
  {
    let sql = """
      CREATE TABLE project (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE);
      CREATE TABLE task (id TEXT NOT NULL PRIMARY KEY, project TEXT REFERENCES project);
      CREATE TABLE step (id TEXT NOT NULL PRIMARY KEY, task TEXT REFERENCES task);
      """
    let tables = ["step", "task", "project"].map { SyncTable($0) }
    let devices = try [1, 2, 3].map { (id: UInt64) in
      try Device(SyncSchema(version: 1, tables: tables), id: id) { try $0.execute(sql: sql) }
    }
    let (early, author, late) = (devices[0], devices[1], devices[2])
    try early.commit("INSERT INTO project VALUES ('p', 'same')")
    try author.pull(from: early)
    try author.commit("INSERT INTO task VALUES ('1', 'p'); INSERT INTO step VALUES ('x', '1')")
    try late.commit("INSERT INTO project VALUES ('q', 'same'); INSERT INTO task VALUES ('2', 'q')")
    let operations = try author.store.operations(lackedBy: VersionVector(), maximumBytes: .max)
    for id in [UInt64(2), 1] {
      try late.merge(operations.filter { $0.envelope.replica == ReplicaID(high: 0, low: id) })
      #expect(try late.column("SELECT id FROM task") == [id == 2 ? "2" : "1"])
    }
    #expect(try late.column("SELECT id FROM step") == ["x"])
    #expect(try late.heldBy == ["parent", "unique"])
    try meet(late, author)
    try expectEqual(late, author, "project", "task", "step")
  }

  @Test func `children of a row that CHECK refuses are left alone, and so are circles`() throws {
    func device(_ id: UInt64, _ check: String) throws -> Device {
      try Device(
        SyncSchema(version: 1, tables: [SyncTable("node"), SyncTable("other")]), id: id
      ) {
        try $0.execute(
          sql: """
            CREATE TABLE node (
              id TEXT NOT NULL PRIMARY KEY, up TEXT REFERENCES node, peer TEXT REFERENCES node,
              n INTEGER \(check));
            CREATE TABLE audit (what);
            """ + other + audit("node"))
      }
    }
    let (a, b) = (try device(1, ""), try device(2, "CHECK (n > 0)"))
    try a.commit(
      """
      PRAGMA defer_foreign_keys = ON;
      INSERT INTO node VALUES ('bad', NULL, NULL, 0), ('of bad', 'bad', NULL, 1),
        ('of that', 'of bad', 'of that', 1), ('x', 'bad', 'y', 1), ('y', 'x', 'z', 1),
        ('z', 'y', 'x', 1), ('1', '2', NULL, 1), ('2', '1', '2', 1), ('3', '2', 'x', 1)
      """)
    try meet(a, b)
    #expect(try b.column("SELECT id FROM node ORDER BY id") == ["1", "2"])
    _ = try b.seen()
    try goOn(a, b)
    #expect(try b.seen() == [])
    try a.commit("UPDATE node SET n = 7 WHERE id = 'bad'")
    try b.pull(from: a)
    #expect(try b.column("SELECT count(*) FROM node") == ["9"])
    #expect(try b.seen().count == 7)
    try expectEqual(a, b, "node")
  }

  @Test func `changes name neither what stays quarantined nor what a table refused`() async throws {
    let (a, b) = try orphaned(
      shelves
        + """
        CREATE TABLE book (id TEXT NOT NULL PRIMARY KEY, shelf TEXT REFERENCES shelf, n,
          UNIQUE (shelf, n));
        """, books: "INSERT INTO book VALUES ('b', '1e3', 1)")
    try b.execute(
      """
      CREATE INDEX no ON shelf (json(CASE code WHEN 'bad' THEN 'no JSON' ELSE '{}' END))
      """)
    var changes = b.replica.changes().makeAsyncIterator()
    try await b.replica.write { try $0.execute(sql: "INSERT INTO other VALUES ('1')") }
    #expect(try await changes.next()?.merged.isEmpty == true)
    try a.commit("INSERT INTO shelf VALUES ('bad', 'bad'), ('good', 'good')")
    let summary = try b.pull(from: a)
    #expect(summary.changedTables == ["shelf"])
    #expect(try await changes.next()?.merged == ["shelf": .keys([["good"]])])
  }

  /// The same where such a row has to be written to know: it takes part in what UNIQUE decides.
  @Test func `changes do not name a row that is shown and goes again`() async throws {
    let (a, b) = try Device.pair(
      SyncSchema(
        version: 1, tables: ["project", "task", "other"].map { SyncTable($0) }),
      """
      CREATE TABLE project (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE);
      CREATE TABLE task (id TEXT NOT NULL PRIMARY KEY, project TEXT REFERENCES project, n,
        UNIQUE (project, n));
      """ + other)
    try a.commit("INSERT INTO project VALUES ('p', 'same'); INSERT INTO task VALUES ('1', 'p', 1)")
    try b.commit("INSERT INTO project VALUES ('q', 'same'); INSERT INTO task VALUES ('2', 'q', 1)")
    try meet(a, b)
    try meet(a, b)
    #expect(try b.heldBy.count == 2)
    var changes = b.replica.changes().makeAsyncIterator()
    try await b.replica.write { try $0.execute(sql: "INSERT INTO other VALUES ('1')") }
    #expect(try await changes.next()?.merged.isEmpty == true)
    try meet(a, b)
    try expectEqual(a, b, "project", "task")
  }

  @Test func `a parent that comes back and is refused is no deleted one any more`() throws {
    func device(_ id: UInt64, _ check: String) throws -> Device {
      try Device(
        SyncSchema(version: 1, tables: ["shelf", "book"].map { SyncTable($0) }), id: id,
        database: DatabaseQueue(configuration: id == 1 ? Configuration() : .unchecked)
      ) {
        try $0.execute(
          sql: """
            CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY, code TEXT \(check));
            CREATE TABLE book (id TEXT NOT NULL PRIMARY KEY, shelf TEXT REFERENCES shelf);
            """)
      }
    }
    let (a, b) = (try device(1, "CHECK (code <> 'bad')"), try device(2, ""))
    try a.commit("INSERT INTO shelf VALUES ('s', 'S')")
    try meet(a, b)
    try b.commit("DELETE FROM shelf")
    try a.commit("INSERT INTO book VALUES ('b', 's')")
    try meet(a, b)
    func listed() throws -> Int {
      try a.database.read { try a.replica.inbox(of: [.orphaned], in: $0).count }
    }
    #expect(try a.heldBy == ["orphaned"] && listed() == 1)
    try b.commit("INSERT INTO shelf VALUES ('s', 'bad')")
    try a.pull(from: b)
    #expect(try a.heldBy == ["constraint", "parent"] && listed() == 0)
    try b.commit("DELETE FROM shelf")
    try a.pull(from: b)
    #expect(try a.heldBy == ["orphaned"] && listed() == 1)
    try expectHealthy(a)
  }

  @Test func `what is quarantined follows a column that is renamed twice`() throws {
    func schema(_ version: UInt32, _ renamed: [String: String] = [:]) -> SyncSchema {
      SyncSchema(
        version: version,
        tables: [SyncTable("shelf"), SyncTable("book", formerColumnNames: renamed)])
    }
    let creation = """
      CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE book (id TEXT NOT NULL PRIMARY KEY, shelf TEXT REFERENCES shelf, title);
      """
    var (a, b) = try Device.pair(schema(1), creation)
    try a.commit("INSERT INTO shelf VALUES ('s')")
    try meet(a, b)
    try b.commit("DELETE FROM shelf")
    try a.commit("INSERT INTO book VALUES ('b', 's', 'Dune')")
    try meet(a, b)
    let steps = [
      "ALTER TABLE book RENAME COLUMN title TO name",
      "ALTER TABLE book RENAME COLUMN name TO called",
    ]
    a = try a.upgraded(schema(2, ["name": "title"]), steps[0])
    a = try a.upgraded(schema(3, ["called": "name"]), steps[0], steps[1])
    try a.commit("INSERT INTO shelf VALUES ('s')")
    #expect(try a.column("SELECT called FROM book") == ["Dune"])
    b = try b.upgraded(schema(2, ["name": "title"]), steps[0])
    b = try b.upgraded(schema(3, ["called": "name"]), steps[0], steps[1])
    try meet(a, b)
    try expectEqual(a, b, "shelf", "book")
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `INV-01: a row is inserted of which changes have come, and not its insert`(
    _ deletes: DeleteRule
  ) throws {
    let creation = """
      CREATE TABLE page (
        id TEXT NOT NULL PRIMARY KEY, title TEXT, n INTEGER NOT NULL DEFAULT 0, best INTEGER,
        tags TEXT NOT NULL DEFAULT '[]', body TEXT NOT NULL DEFAULT '');
      """
    let schema = SyncSchema(
      version: 1,
      tables: [
        SyncTable(
          "page", merge: ["n": .counter, "best": .max, "tags": .set, "body": .text],
          deletes: deletes)
      ])
    let devices = try (1...4).map { id in
      try Device(schema, id: UInt64(id)) { try $0.execute(sql: creation) }
    }
    let (a, b, c) = (devices[0], devices[1], devices[2])
    try a.commit("INSERT INTO page VALUES ('p', 'first', 1, 5, '[\"a\"]', 'abc')")
    try b.pull(from: a)
    try b.commit(
      "UPDATE page SET n = n + 2, best = 7, tags = '[\"a\",\"b\"]', body = 'abcd'")
    // The change, and not the insert before it.
    try c.merge(
      b.store.operations(lackedBy: a.store.versionVector(), maximumBytes: .max))
    #expect(try c.column("SELECT id FROM page").isEmpty)
    try c.commit("INSERT INTO page (id, best) VALUES ('p', 7)")
    try devices[3].load(Parts(of: c))
    try expectEqual(c, devices[3], "page")
    #expect(try c.column("SELECT id || n || best || tags FROM page") == [#"p27["b"]"#])
    for _ in 1...2 {
      for device in devices { try meet(a, device) }
    }
    for device in devices {
      let row = "SELECT n || best || tags || body FROM page"
      #expect(try device.column(row) == [#"37["a","b"]abcd"#])
      try expectEqual(a, device, "page")
    }
  }

}
