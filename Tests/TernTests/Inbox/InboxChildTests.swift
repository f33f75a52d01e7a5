import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE parent (id TEXT NOT NULL PRIMARY KEY, name, up TEXT REFERENCES parent);
  CREATE TABLE child (
    id TEXT NOT NULL PRIMARY KEY, parent TEXT DEFAULT 'home' REFERENCES parent ON DELETE NO ACTION,
    name, n INTEGER NOT NULL DEFAULT 0, tags TEXT NOT NULL DEFAULT '[]',
    body TEXT NOT NULL DEFAULT '', seen DEFAULT 'never');
  """

/// What may be declared for children of a deleted parent.
enum ChildAction: String, CaseIterable {
  case cascade = "CASCADE"
  case setNull = "SET NULL"
  case setDefault = "SET DEFAULT"
  case restrict = "RESTRICT"
  case nothing = "NO ACTION"

  var isReleasing: Bool { self == .setNull || self == .setDefault }
}

private func device(_ id: UInt64, _ action: ChildAction, _ deletes: DeleteRule = .deleteWins) throws
  -> Device
{
  let schema = SyncSchema(
    version: 1,
    tables: [
      SyncTable("parent", deletes: deletes),
      SyncTable(
        "child", merge: ["n": .counter, "tags": .set, "body": .text], local: ["seen"]),
    ])
  return try Device(schema, id: id) {
    try $0.execute(sql: creation.replacing("NO ACTION", with: action.rawValue))
  }
}

extension Device {
  fileprivate var entries: [InboxEntry] {
    get throws { try database.read { try replica.inbox(in: $0) } }
  }

  /// Merges what another has of some authors, up to a sequence number.
  fileprivate func take(_ other: Device, of authors: [UInt64], until last: UInt64 = .max) throws {
    let operations = try other.store.operations(lackedBy: VersionVector(), maximumBytes: .max)
    let ids = authors.map { ReplicaID(high: 0, low: $0) }
    try merge(
      operations.filter { ids.contains($0.envelope.replica) && $0.envelope.sequence <= last })
  }
}

/// One device deletes the parent while the other adds a child.
private func orphaned(_ action: ChildAction, _ deletes: DeleteRule = .deleteWins) throws -> (
  Device, Device
) {
  let (a, b) = (try device(1, action, deletes), try device(2, action, deletes))
  try a.commit("INSERT INTO parent VALUES ('home', 'Home', NULL), ('p', 'P', 'home')")
  try meet(a, b)
  try a.commit("DELETE FROM parent WHERE id = 'p'")
  try b.commit(
    """
    INSERT INTO child VALUES ('c', 'p', 'C', 5, '["x"]', 'text', 'today'),
      ('d', NULL, 'D', 0, '[]', '', '')
    """)
  try meet(a, b)
  return (a, b)
}

@Suite("Inbox: children of a deleted parent")
struct InboxChildTests {
  @Test(arguments: ChildAction.allCases)
  func `a child of a deleted parent is not shown, or shown without it, and is in the inbox of both`(
    _ action: ChildAction
  ) async throws {
    let (a, b) = try orphaned(action)
    for device in [a, b] {
      #expect(
        try device.column("SELECT id FROM child ORDER BY id")
          == (action.isReleasing ? ["c", "d"] : ["d"]))
      let entry = try #require(try device.entries.first)
      #expect(try device.entries.count == 1)
      #expect(entry.kind == (action.isReleasing ? .veiled : .orphaned))
      #expect(entry.table == "child" && entry.key == ["c"])
      #expect(entry.values["parent"] == "p" && entry.values["n"] == 5)
      #expect(entry.loser?.author == ReplicaID(high: 0, low: 2))
      #expect(entry.winner?.author == ReplicaID(high: 0, low: 1))
      #expect(try device.store.counts().conflicts[.parentDeleted] == 1)
    }
    #expect(try b.entries[0].values["seen"] == "today")
    try expectEqual(a, b, "parent")
    // Looked at again in every merge, and listed once; dismissed, it stays so.
    try a.commit("INSERT INTO parent (id) VALUES ('q')")
    try meet(a, b)
    #expect(try b.entries.count == 1)
    try await b.replica.dismiss(try b.entries[0])
    try a.commit("INSERT INTO parent (id) VALUES ('r')")
    try meet(a, b)
    #expect(try b.entries.isEmpty)
    #expect(try a.entries.count == 1)
  }

  @Test(arguments: ChildAction.allCases.filter(\.isReleasing))
  func `one call agrees with what is declared, as a write that travels`(_ action: ChildAction)
    throws
  {
    let (a, b) = try orphaned(action)
    try a.show(a.entries[0])
    #expect(try a.entries.isEmpty)
    try meet(a, b)
    try meet(a, b)
    let parent = action == .setNull ? "NULL" : "'home'"
    for device in [a, b] {
      #expect(
        try device.column(
          "SELECT quote(parent) || name || n || tags || body FROM child ORDER BY id")
          == [#"\#(parent)C5["x"]text"#, "NULLD0[]"])
      #expect(try device.entries.isEmpty)
      #expect(try device.store.counts().quarantined == 0)
      #expect(try device.rows("PRAGMA foreign_key_check").isEmpty)
    }
    #expect(try b.column("SELECT seen FROM child WHERE id = 'c'") == ["today"])
    try expectEqual(a, b, "parent")
    // Only the reference was written: of two who restore at once nothing counts twice.
    let state = try #require(try a.store.canonicalState().first { $0.key == ["c"] })
    #expect(state.cells["parent"]?.author == ReplicaID(high: 0, low: 1))
    for column in ["name", "n", "tags", "body"] {
      #expect(state.cells[column]?.author == ReplicaID(high: 0, low: 2), "\(column)")
    }
  }

  @Test(arguments: ChildAction.allCases.filter(\.isReleasing))
  func `what is declared is not undone, as the parent is gone, and what came before is`(
    _ action: ChildAction
  ) throws {
    let (a, b) = try orphaned(action)
    try b.show(b.entries[0])
    #expect(try b.store.undo()?.rows.map(\.left) == [["parent": .changedSince]])
    #expect(try b.store.undo()?.rows.map(\.action) == [.left, .removed])
    #expect(try b.column("SELECT id FROM child") == ["c"])
    try meet(a, b)
    try expectEqual(a, b, "parent")
  }

  @Test func `two devices that answer for one child at once have it once, and count once`() throws {
    let (a, b) = try orphaned(.setNull)
    try a.show(a.entries[0])
    try b.show(b.entries[0])
    try meet(a, b)
    try meet(a, b)
    for device in [a, b] {
      let content = "SELECT n || tags || body FROM child WHERE id = 'c'"
      #expect(try device.column(content) == [#"5["x"]text"#])
    }
    #expect(try a.store.canonicalState() == b.store.canonicalState())
  }

  @Test(
    arguments: [ChildAction.cascade, .restrict, .nothing], [DeleteRule.updateWins, .lastWriter])
  func `where deleted parents are kept, one call brings back parent and child`(
    _ action: ChildAction, _ deletes: DeleteRule
  ) async throws {
    let (a, b) = try orphaned(action, deletes)
    for device in [a, b] { #expect(try device.entries.map(\.kind) == [.orphaned]) }
    try await b.replica.restore(try b.entries[0])
    try meet(a, b)
    try meet(a, b)
    for device in [a, b] {
      #expect(
        try device.column(
          "SELECT p.name || p.up || c.n FROM child c JOIN parent p ON p.id = parent")
          == ["Phome5"])
      #expect(try device.entries.isEmpty)
    }
    try expectEqual(a, b, "parent")
    #expect(try a.store.canonicalState() == b.store.canonicalState())
  }

  @Test(arguments: [ChildAction.cascade, .setNull])
  func `a child comes back under the app's triggers, which write no row that syncs`(
    _ action: ChildAction
  ) async throws {
    let (a, b) = try orphaned(action, .updateWins)
    try a.execute(
      """
      CREATE VIRTUAL TABLE search USING fts5 (name, content = 'child');
      INSERT INTO search (search) VALUES ('rebuild');
      CREATE TRIGGER searched AFTER INSERT ON child BEGIN
        INSERT INTO search (rowid, name) VALUES (new.rowid, new.name);
      END;
      CREATE TRIGGER changed AFTER UPDATE ON child BEGIN
        INSERT INTO search (search, rowid, name) VALUES ('delete', old.rowid, old.name);
        INSERT INTO search (rowid, name) VALUES (new.rowid, new.name);
      END;
      CREATE TRIGGER checked BEFORE INSERT ON child WHEN new.parent IS NOT NULL BEGIN
        SELECT RAISE(ABORT, 'no parent')
        WHERE NOT EXISTS (SELECT 1 FROM parent WHERE id = new.parent);
      END;
      CREATE TRIGGER counting AFTER INSERT ON child BEGIN
        UPDATE parent SET name = name || '+' WHERE id IN ('home', new.parent);
        UPDATE child SET n = n + 1 WHERE id = new.id;
      END;
      """)
    try await a.replica.restore(try a.entries[0])
    let found = "SELECT c.n FROM search s JOIN child c ON c.rowid = s.rowid WHERE search MATCH 'C'"
    #expect(try a.column(found) == ["5"])
    try a.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")
    #expect(try a.column("SELECT name FROM parent WHERE id = 'home'") == ["Home"])
    try meet(a, b)
    try meet(a, b)
    try expectEqual(a, b, "parent")
    let child = "SELECT quote(parent) || name || n FROM child WHERE id = 'c'"
    #expect(try a.column(child) == b.column(child))
  }

  @Test func `a child keeps a reference to a row that is only quarantined`() async throws {
    let schema = SyncSchema(
      version: 1, tables: [SyncTable("list"), SyncTable("tag"), SyncTable("item")])
    let (a, b) = try Device.pair(
      schema,
      """
      CREATE TABLE list (id TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE tag (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE);
      CREATE TABLE item (
        id TEXT NOT NULL PRIMARY KEY, list TEXT REFERENCES list ON DELETE SET NULL,
        tag TEXT REFERENCES tag ON DELETE SET NULL);
      """)
    try a.commit("INSERT INTO list VALUES ('L')")
    try meet(a, b)
    try a.commit("INSERT INTO tag VALUES ('1', 'x')")
    try b.commit("INSERT INTO tag VALUES ('2', 'x'); INSERT INTO item VALUES ('i', 'L', '2')")
    try a.commit("DELETE FROM list")
    try meet(a, b)
    let entry = try #require(try a.entries.first { $0.kind == .orphaned })
    let error = await #expect(throws: InboxError.self) { try await a.replica.restore(entry) }
    #expect(error?.code == .parentDeleted)
    #expect(try a.entries.contains(entry))
    try a.commit("UPDATE tag SET name = 'y' WHERE id = '1'")
    #expect(try a.entries.map(\.kind) == [.veiled])
    try meet(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT quote(list) || tag FROM item") == ["NULL2"])
    }
    try expectEqual(a, b, "list", "tag", "item")
  }

  @Test(arguments: [ChildAction.cascade, .restrict, .nothing])
  func `where nothing is kept the call says what to insert, and the entry stays until then`(
    _ action: ChildAction
  ) async throws {
    let (a, b) = try orphaned(action)
    let before = try a.store.canonicalState()
    #expect(try a.entries[0].actions == [.show, .discard, .dismiss])
    let error = await #expect(throws: InboxError.self) {
      try await a.replica.restore(try a.entries[0])
    }
    #expect(error?.code == .parentDeleted)
    #expect(error?.message.contains("“parent”") == true)
    #expect(try a.entries.count == 1 && a.store.counts().quarantined == 1)
    #expect(try a.store.canonicalState() == before)
    try b.commit("INSERT INTO parent VALUES ('p', 'again', NULL)")
    try meet(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT name FROM child ORDER BY id") == ["C", "D"])
      #expect(try device.entries.isEmpty)
    }
    // Deleted once more, it is a conflict once more.
    try a.commit("DELETE FROM child; DELETE FROM parent WHERE id = 'p'")
    try b.commit("INSERT INTO child (id, parent) VALUES ('e', 'p')")
    try meet(a, b)
    #expect(try a.entries.filter { $0.kind == .orphaned }.map(\.key) == [["e"]])
  }

  @Test
  func `a parent whose place another row has is named with it, and comes back when that goes`()
    async throws
  {
    let schema = SyncSchema(
      version: 1, tables: [SyncTable("note", deletes: .updateWins), SyncTable("comment")])
    let (a, b) = try Device.pair(
      schema,
      """
      CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, slug TEXT UNIQUE);
      CREATE TABLE comment (id TEXT NOT NULL PRIMARY KEY, note TEXT NOT NULL REFERENCES note);
      """)
    try a.commit("INSERT INTO note VALUES ('one', 'same')")
    try meet(a, b)
    try a.commit("DELETE FROM note")
    try a.commit("INSERT INTO note VALUES ('two', 'same')")
    try b.commit("INSERT INTO comment VALUES ('c', 'one')")
    try meet(a, b)
    let entry = try #require(try a.entries.first)
    let error = await #expect(throws: InboxError.self) { try await a.replica.restore(entry) }
    #expect(error?.code == .parentRefused)
    #expect(
      error?.message.hasPrefix(
        "the row ['one'] in “note” that it refers to is deleted, and has lost its place in a UNIQUE "
          + "index to ['two']; ") == true)
    #expect(try a.entries == [entry])
    try a.commit("UPDATE note SET slug = 'other'")
    try await a.replica.restore(entry)
    try meet(a, b)
    for device in [a, b] {
      #expect(
        try device.column("SELECT id || slug FROM note ORDER BY id") == ["onesame", "twoother"])
      #expect(try device.column("SELECT note FROM comment") == ["one"])
    }
  }

  @Test(
    arguments: ["SELECT RAISE(ABORT, 'at most 10 notes')", "INSERT INTO few VALUES (9)"],
    [false, true])
  func `a parent that its table refuses is named with what SQLite says of it`(
    _ refusal: String, _ hasRival: Bool
  ) async throws {
    let schema = SyncSchema(
      version: 1, tables: [SyncTable("note", deletes: .updateWins), SyncTable("comment")])
    let (a, b) = try Device.pair(
      schema,
      """
      CREATE TABLE few (n CHECK (n < 9));
      CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, slug TEXT UNIQUE);
      CREATE TABLE comment (id TEXT NOT NULL PRIMARY KEY, note TEXT NOT NULL REFERENCES note);
      """)
    try a.commit("INSERT INTO note VALUES ('one', 'same')")
    try meet(a, b)
    try a.commit("DELETE FROM note")
    if hasRival { try a.commit("INSERT INTO note VALUES ('two', 'same')") }
    try b.commit("INSERT INTO comment VALUES ('c', 'one')")
    try meet(a, b)
    try a.execute("CREATE TRIGGER refusing BEFORE INSERT ON note BEGIN \(refusal); END")
    let says = refusal.contains("few") ? "CHECK constraint failed: n < 9" : "at most 10 notes"
    let entry = try #require(try a.entries.first)
    let error = await #expect(throws: InboxError.self) { try await a.replica.restore(entry) }
    #expect(error?.code == .parentRefused)
    #expect(error?.message.contains(": \(says); ") == true)
    #expect(error?.message.contains("two") == false)
    #expect(try a.entries == [entry])
  }

  @Test func `an entry follows its row: edited, moved to another parent, deleted`() throws {
    let (a, b) = try orphaned(.cascade)
    let c = try device(3, .cascade)
    try c.pull(from: b)
    #expect(try c.entries.map(\.key) == [["c"]])
    // Of devices that never heard of the delete.
    func edit(_ device: Device, _ sql: String) throws {
      try device.commit(sql)
      try a.pull(from: device)
    }
    let (d, e) = (try device(4, .cascade), try device(5, .cascade))
    for device in [d, e] {
      try device.take(a, of: [1], until: 1)
      try device.take(b, of: [2])
      #expect(try device.column("SELECT id FROM child ORDER BY id") == ["c", "d"])
      #expect(try device.entries.isEmpty)
    }
    try edit(d, "UPDATE child SET name = 'edited' WHERE id = 'c'")
    #expect(try a.entries.map { $0.values["name"] } == ["edited"])
    try edit(e, "UPDATE child SET parent = 'home' WHERE id = 'c'")
    #expect(try a.column("SELECT name FROM child ORDER BY id") == ["edited", "D"])
    #expect(try a.entries.filter { $0.kind == .orphaned }.isEmpty)
  }

  @Test func `a child whose parent has not come is no conflict, nor is a grandchild`() throws {
    let (a, b) = (try device(1, .cascade), try device(2, .cascade))
    try a.commit("INSERT INTO parent (id) VALUES ('p')")
    try meet(a, b)
    try a.commit("DELETE FROM parent")
    try b.commit(
      "INSERT INTO parent VALUES ('q', 'Q', 'p'); INSERT INTO child (id, parent) VALUES ('g', 'q')")
    let c = try device(3, .cascade)
    try c.take(b, of: [2])
    #expect(try c.entries.map(\.kind) == [.parentMissing, .parentMissing])
    #expect(try c.store.counts().conflicts.isEmpty && c.store.counts().quarantined == 2)
    try meet(a, b)
    try c.pull(from: a)
    for device in [a, b, c] {
      #expect(try device.listedEntries == ["orphaned parent ['q']", "parentMissing child ['g']"])
      #expect(try device.store.counts().quarantined == 2)
    }
    try expectEqual(a, b, "parent", "child")
  }

  @Test func `explain names the parent that is deleted`() async throws {
    let (a, _) = try orphaned(.cascade)
    let row = try await a.replica.explain("child", key: ["c"])
    let parent = RowExplanation.Reference(table: "parent", columns: ["id"], values: ["p"])
    #expect(row.standing == .quarantined(.orphaned, [parent]))
  }
}

/// Edits to a key that was changed meanwhile.
@Suite("Inbox: edits to a key that was changed meanwhile")
struct InboxKeyTests {
  private func pair() throws -> (Device, Device) {
    let schema = SyncSchema(version: 1, tables: [SyncTable("t", merge: ["n": .counter])])
    let creation = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a, n INTEGER NOT NULL DEFAULT 0)"
    let (a, b) = try Device.pair(schema, creation)
    try a.commit("INSERT INTO t VALUES ('old', 'first', 1)")
    try meet(a, b)
    return (a, b)
  }

  @Test func `edits to the old key that come later are listed, and restored into the new one`()
    async throws
  {
    let (a, b) = try pair()
    try a.commit("UPDATE t SET id = 'new', a = 'moved'")
    for value in ["edit 1", "edit 2"] { try b.commit("UPDATE t SET a = '\(value)', n = n + 1") }
    try meet(a, b)
    try expectEqual(a, b, "t")
    #expect(try a.column("SELECT id || a FROM t") == ["newmoved"])
    // Where the key was changed each edit comes late; where it was edited the row went, whole.
    #expect(try a.entries.map(\.values) == [["a": "edit 2"], ["a": "edit 1"]])
    #expect(try b.entries.map { $0.values["a"] } == ["edit 2"])
    for device in [a, b] {
      #expect(try device.entries.allSatisfy { $0.key == ["old"] && $0.kind == .deleteWins })
    }
    let missing = await #expect(throws: InboxError.self) {
      try await a.replica.restore(try a.entries[0], into: ["none"])
    }
    #expect(missing?.code == .missingRow)
    #expect(try a.entries.count == 2)
    try await a.replica.restore(try a.entries[0], into: ["new"])
    #expect(try a.column("SELECT id || a || n FROM t") == ["newedit 21"])
    #expect(try a.entries.count == 1)
    try meet(a, b)
    try expectEqual(a, b, "t")
    #expect(try b.column("SELECT id || a FROM t") == ["newedit 2"])
  }

  @Test func `a key that was changed on two devices makes two rows, and the later edit is listed`()
    throws
  {
    let (a, b) = try pair()
    try a.commit("UPDATE t SET id = 'A'")
    try b.commit("UPDATE t SET id = 'B'")
    let c = try device(of: b)
    try meet(a, b)
    try expectEqual(a, b, "t")
    #expect(try a.column("SELECT id FROM t ORDER BY id") == ["A", "B"])
    #expect(try a.entries.isEmpty && b.entries.isEmpty)
    try c.commit("UPDATE t SET a = 'late'")
    try meet(a, c)
    #expect(try a.entries.map(\.values) == [["a": "late"]])
    #expect(try a.column("SELECT id FROM t ORDER BY id") == ["A", "B"])
  }

  /// One that has what others wrote before the keys changed.
  private func device(of other: Device) throws -> Device {
    let schema = SyncSchema(version: 1, tables: [SyncTable("t", merge: ["n": .counter])])
    let c = try Device(schema, id: 3) {
      try $0.execute(
        sql: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a, n INTEGER NOT NULL DEFAULT 0)")
    }
    try c.take(other, of: [1])
    return c
  }
}
