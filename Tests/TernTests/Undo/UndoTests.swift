import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE t (
    id TEXT NOT NULL PRIMARY KEY, a, b, n INTEGER NOT NULL DEFAULT 0, hi,
    tags TEXT NOT NULL DEFAULT '[]', place TEXT)
  """

private func pair(_ deletes: DeleteRule = .deleteWins) throws -> (Device, Device) {
  let schema = SyncSchema(
    version: 1,
    tables: [
      SyncTable(
        "t", merge: ["n": .counter, "hi": .max, "tags": .set, "place": .order], deletes: deletes)
    ])
  return try Device.pair(schema, creation)
}

extension Device {
  fileprivate var content: [String] {
    get throws {
      try column("SELECT quote(id) || quote(a) || quote(b) || n || quote(hi) || tags FROM t")
        .compactMap { $0 }
    }
  }
}

@Suite("Undo: the last operation is taken back")
struct UndoTests {
  @Test func `an update is taken back, column by column, on every device`() throws {
    let (a, b) = try pair()
    try a.commit(#"INSERT INTO t (id, a, b, n, tags) VALUES ('1', 'x', 'y', 5, '["p","q"]')"#)
    try meet(a, b)
    let before = try a.content
    try a.commit(
      #"UPDATE t SET a = 'changed', n = n + 3, tags = '["p","r"]', place = 'V.abcdef'"#)
    try meet(a, b)
    let undone = try #require(try a.store.undo())
    #expect(undone.rows.map(\.action) == [.restored])
    #expect(undone.rows[0].columns == ["a", "n", "tags", "place"] && undone.rows[0].left.isEmpty)
    #expect(try a.content == before)
    #expect(try a.column("SELECT place FROM t") == [nil])
    try meet(a, b)
    try expectEqual(a, b, "t")
  }

  @Test func `what somebody wrote since stays, and is reported`() throws {
    let (a, b) = try pair()
    try a.commit("INSERT INTO t (id, a, b) VALUES ('1', 'x', 'y')")
    try a.commit("UPDATE t SET a = 'mine', b = 'mine', n = 1, tags = json_array('m')")
    try meet(a, b)
    try b.commit("UPDATE t SET a = 'theirs', n = n + 10, tags = json_array('m', 't')")
    try meet(a, b)
    let undone = try #require(try a.store.undo())
    #expect(undone.rows[0].left == ["a": .changedSince])
    #expect(undone.rows[0].columns == ["b", "n", "tags"])
    #expect(try a.content == [#"'1''theirs''y'10NULL["t"]"#])
    try meet(a, b)
    try expectEqual(a, b, "t")
  }

  @Test func `each call goes one operation further back, and none undoes an undo`() throws {
    let (a, b) = try pair()
    try a.commit("INSERT INTO t (id, a) VALUES ('1', '0')")
    for value in 1...3 { try a.commit("UPDATE t SET a = '\(value)'") }
    for value in ["2", "1", "0"] {
      #expect(try a.store.undo() != nil)
      #expect(try a.column("SELECT a FROM t") == [value])
    }
    #expect(try a.store.undo()?.rows.map(\.action) == [.removed])
    #expect(try a.column("SELECT a FROM t").isEmpty)
    #expect(try a.store.undo() == nil)
    try a.commit("INSERT INTO t (id, a) VALUES ('2', 'new')")
    #expect(try a.store.undo()?.rows.map(\.key) == [["2"]])
    #expect(try a.store.undo() == nil)
    try meet(a, b)
    try expectEqual(a, b, "t")
  }

  @Test func `another's write between two own ones ends the way back for that column`() throws {
    let (a, b) = try pair()
    try a.commit("INSERT INTO t (id, a, b) VALUES ('1', '0', '0')")
    try a.commit("UPDATE t SET a = 'first', b = 'first'")
    try meet(a, b)
    try b.commit("UPDATE t SET a = 'theirs'")
    try meet(a, b)
    try a.commit("UPDATE t SET a = 'second'")
    #expect(try a.store.undo()?.rows[0].columns == ["a"])
    #expect(try a.column("SELECT a FROM t") == ["theirs"])
    let undone = try #require(try a.store.undo())
    #expect(undone.rows[0].left == ["a": .changedSince] && undone.rows[0].columns == ["b"])
    #expect(try a.column("SELECT a || b FROM t") == ["theirs0"])
  }

  @Test func `an insert is deleted, unless somebody changed the row since`() throws {
    let (a, b) = try pair()
    try a.commit("INSERT INTO t (id, a) VALUES ('1', 'x'), ('2', 'x')")
    try meet(a, b)
    try b.commit("UPDATE t SET n = n + 1 WHERE id = '2'")
    try meet(a, b)
    let undone = try #require(try a.store.undo())
    #expect(undone.rows.map(\.action) == [.removed, .left])
    #expect(try a.column("SELECT id FROM t") == ["2"])
    try meet(a, b)
    try expectEqual(a, b, "t")
  }

  @Test(arguments: DeleteRule.Kind.allCases)
  func `a deleted row comes back with all columns, and can be taken back further`(
    _ rule: DeleteRule.Kind
  ) throws {
    let (a, b) = try pair(DeleteRule(rule))
    try a.commit(#"INSERT INTO t (id, a, b, n, hi, tags) VALUES ('1', 'x', 1.5, 7, 3, '["p"]')"#)
    try meet(a, b)
    try b.commit(#"UPDATE t SET b = x'00', n = n + 1, hi = 9, tags = '["p","q"]'"#)
    try meet(a, b)
    let before = try a.content
    try a.commit("UPDATE t SET a = 'changed'")
    let changed = try a.content
    try a.commit("DELETE FROM t")
    try meet(a, b)
    #expect(try a.store.undo()?.rows.map(\.action) == [.broughtBack])
    #expect(try a.content == changed)
    try meet(a, b)
    try expectEqual(a, b, "t")
    #expect(try a.store.undo()?.rows.map(\.action) == [.restored])
    #expect(try a.content == before)
    try meet(a, b)
    try expectEqual(a, b, "t")
  }

  @Test func `a row that was inserted again by somebody is not brought back over theirs`() throws {
    let (a, b) = try pair()
    try a.commit("INSERT INTO t (id, a) VALUES ('1', 'x')")
    try a.commit("DELETE FROM t")
    try meet(a, b)
    try b.commit("INSERT INTO t (id, a) VALUES ('1', 'theirs')")
    try meet(a, b)
    #expect(try a.store.undo()?.rows.map(\.action) == [.left])
    #expect(try a.column("SELECT a FROM t") == ["theirs"])
  }

  @Test func `an extreme stays, and says so`() throws {
    let (a, _) = try pair()
    try a.commit("INSERT INTO t (id, hi) VALUES ('1', 1)")
    try a.commit("UPDATE t SET hi = 5, a = 'x'")
    let undone = try #require(try a.store.undo())
    #expect(undone.rows[0].left == ["hi": .extreme] && undone.rows[0].columns == ["a"])
    #expect(try a.content == [#"'1'NULLNULL05[]"#])
  }

  @Test func `rows that were there before their table synced are not taken away`() throws {
    let device = try Device(SyncSchema(version: 1, tables: [SyncTable("t")]), id: 1) { db in
      try db.execute(sql: creation + "; INSERT INTO t (id, a) VALUES ('1', 'x')")
    }
    #expect(try device.store.undo() == nil)
    try device.commit("UPDATE t SET a = 'y'")
    #expect(try device.store.undo()?.rows.map(\.action) == [.restored])
    #expect(try device.column("SELECT a FROM t") == ["x"])
    #expect(try device.store.undo() == nil)
  }

  @Test func `what the log has forgotten is left, and not guessed`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("t")])
    let a = try Device(schema, id: 1, logRetention: .seconds(-60)) { try $0.execute(sql: creation) }
    try a.commit("INSERT INTO t (id, a, b) VALUES ('1', '0', '0')")
    try a.commit("UPDATE t SET a = '1'")
    try a.commit("UPDATE t SET b = '1'")
    try a.store.trim(heldBy: a.store.versionVector(), at: "peer")
    #expect(try a.store.counts().operations == 1)
    try a.commit("UPDATE t SET a = '2', b = '2'")
    let undone = try #require(try a.store.undo())
    #expect(undone.rows[0].left == ["a": .forgotten] && undone.rows[0].columns == ["b"])
    #expect(try a.column("SELECT a || b FROM t") == ["21"])
    try a.commit("INSERT INTO t (id) VALUES ('2')")
    #expect(try a.store.undo()?.rows.map(\.action) == [.left])
    #expect(try a.column("SELECT id FROM t") == ["1", "2"])
  }

  @Test func `parents and children come and go together`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("c"), SyncTable("p")])
    let device = try Device(schema, id: 1) { db in
      try db.execute(
        sql: """
          CREATE TABLE p (id TEXT NOT NULL PRIMARY KEY);
          CREATE TABLE c (
            id TEXT NOT NULL PRIMARY KEY, p TEXT REFERENCES p (id) ON DELETE CASCADE)
          """)
    }
    try device.commit("INSERT INTO p VALUES ('1'); INSERT INTO c VALUES ('2', '1')")
    try device.commit("DELETE FROM p")
    #expect(try device.store.undo()?.rows.count == 2)
    #expect(try device.column("SELECT p FROM c") == ["1"])
    #expect(try device.store.undo()?.rows.map(\.action) == [.removed, .removed])
    #expect(try device.column("SELECT id FROM p").isEmpty)
  }

  @Test func `what the tables refuse takes nothing back, and is asked for again`() throws {
    let (a, _) = try pair()
    try a.commit("INSERT INTO t (id, a) VALUES ('1', 'x')")
    try a.commit("UPDATE t SET a = 'y'; INSERT INTO t (id, a) VALUES ('2', 'y')")
    try a.execute(
      "CREATE TRIGGER app BEFORE UPDATE ON t BEGIN SELECT RAISE(ABORT, 'not now'); END")
    #expect(throws: DatabaseError.self) { try a.store.undo() }
    #expect(try a.column("SELECT id || a FROM t") == ["1y", "2y"])
    try a.execute("DROP TRIGGER app")
    #expect(try a.store.undo()?.rows.count == 2)
    #expect(try a.column("SELECT id || a FROM t") == ["1x"])
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `a row whose value another has by now is left, and the next undo goes on`(
    _ rule: DeleteRule
  ) throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("t", deletes: rule)])
    let a = try Device(schema, id: 1) {
      try $0.execute(sql: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a TEXT UNIQUE, b)")
    }
    try a.commit("INSERT INTO t VALUES ('1', 'x', 0), ('2', 'y', 0)")
    try a.commit("UPDATE t SET b = 1 WHERE id = '2'")
    try a.commit("DELETE FROM t WHERE id = '1'")
    try a.database.write { db in
      try a.replica.writeWithoutUndo(in: db) {
        try $0.execute(sql: "INSERT INTO t VALUES ('3', 'x', 0)")
      }
    }
    let left = try #require(try a.store.undo()).rows
    #expect(left.map(\.action) == [.left])
    #expect(left.first?.left == ["a": .refused, "b": .refused])
    #expect(try a.column("SELECT id || a || b FROM t ORDER BY id") == ["2y1", "3x0"])
    #expect(try a.store.undo()?.rows.map(\.action) == [.restored])
    #expect(try a.column("SELECT id || a || b FROM t ORDER BY id") == ["2y0", "3x0"])
    // Others have what it left.
    let b = try Device(schema, id: 2) {
      try $0.execute(sql: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a TEXT UNIQUE, b)")
    }
    try b.pull(from: a)
    try expectEqual(a, b, "t")
  }

  @Test func `what a trigger's own table refuses is an error, and is asked for again`() throws {
    let (a, _) = try pair()
    try a.commit("INSERT INTO t (id, a) VALUES ('1', 'x')")
    try a.commit("UPDATE t SET a = 'y'")
    try a.execute(
      """
      CREATE TABLE seen (a TEXT NOT NULL UNIQUE); INSERT INTO seen VALUES ('x');
      CREATE TRIGGER app AFTER UPDATE ON t BEGIN INSERT INTO seen VALUES (NEW.a); END
      """)
    #expect(throws: DatabaseError.self) { try a.store.undo() }
    #expect(try a.column("SELECT a FROM t") == ["y"])
    try a.execute("DELETE FROM seen")
    #expect(try a.store.undo()?.rows.map(\.action) == [.restored])
    #expect(try a.column("SELECT a FROM t") == ["x"])
  }

  @Test func `a text that an expression of the table can't read any more is left`() throws {
    let (a, b) = try Device.pair(
      SyncSchema(version: 1, tables: [SyncTable("t")]),
      "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a)")
    try a.commit("INSERT INTO t VALUES ('1', 'no JSON')")
    try a.commit("UPDATE t SET a = '{}'")
    try a.execute("CREATE INDEX title ON t (json_extract(a, '$.title'))")
    #expect(try a.store.undo()?.rows.map(\.left) == [["a": .refused]])
    #expect(try a.column("SELECT a FROM t") == ["{}"])
    try meet(a, b)
    try expectEqual(a, b, "t")
  }

  @Test func `a changed value that another row has by now is left`() throws {
    let (a, b) = try Device.pair(
      SyncSchema(version: 1, tables: [SyncTable("t")]),
      "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a TEXT UNIQUE)")
    try a.commit("INSERT INTO t (id, a) VALUES ('1', 'x')")
    try a.commit("UPDATE t SET a = 'y'")
    try a.database.write { db in
      try a.replica.writeWithoutUndo(in: db) {
        try $0.execute(sql: "INSERT INTO t (id, a) VALUES ('2', 'x')")
      }
    }
    #expect(try a.store.undo()?.rows.map(\.left) == [["a": .refused]])
    #expect(try a.column("SELECT id || a FROM t ORDER BY id") == ["1y", "2x"])
    #expect(try a.store.undo()?.rows.map(\.left) == [["a": .changedSince]])
    try meet(a, b)
    try expectEqual(a, b, "t")
  }

  @Test func `an operation of many rows and fragments is taken back whole`() throws {
    let (a, b) = try pair()
    try a.commit(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
      INSERT INTO t (id, a) SELECT i, hex(zeroblob(2000)) FROM n
      """)
    try a.commit("UPDATE t SET a = 'short'")
    #expect(try a.store.undo()?.rows.count == 200)
    #expect(try a.column("SELECT DISTINCT length(a) FROM t") == ["4000"])
    let removals = try #require(try a.store.undo()).rows.map(\.action)
    #expect(removals.count == 200 && Set(removals) == [.removed])
    #expect(try a.store.undo() == nil)
    try meet(a, b)
    try expectEqual(a, b, "t")
  }

  @Test func `an undo tells observers of what triggers and cascades make of it`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("t")])
    let a = try Device(schema, id: 1) { db in
      try db.execute(
        sql: """
          CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a);
          CREATE TABLE part (id INTEGER PRIMARY KEY, t REFERENCES t (id) ON DELETE CASCADE);
          """)
    }
    let watch = TableWatch("part")
    a.database.add(transactionObserver: watch)
    try a.commit("INSERT INTO t VALUES ('1', 'x')")
    try a.execute("INSERT INTO part VALUES (1, '1')")
    watch.isTold = false
    _ = try #require(try a.store.undo())
    #expect(try a.column("SELECT id FROM part") == [])
    #expect(watch.isTold)
    try a.execute(
      """
      CREATE TABLE audit (id); DROP TABLE part;
      CREATE TRIGGER auditing AFTER UPDATE ON t BEGIN INSERT INTO audit VALUES (NEW.id); END;
      """)
    let audit = TableWatch("audit")
    a.database.add(transactionObserver: audit)
    try a.commit("INSERT INTO t VALUES ('2', 'x')")
    try a.commit("UPDATE t SET a = 'y'")
    audit.isTold = false
    _ = try #require(try a.store.undo())
    #expect(try a.column("SELECT id FROM audit") == ["2", "2"])
    #expect(audit.isTold)
  }
}

/// Whether GRDB told of changes of a table, of its own or said to it. Used on the database's queue.
private final class TableWatch: TransactionObserver {
  private let table: String
  var isTold = false

  init(_ table: String) {
    self.table = table
  }

  func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { kind.tableName == table }
  func databaseDidChange() { isTold = true }
  func databaseDidChange(with event: DatabaseEvent) { isTold = true }
  func databaseDidCommit(_ db: Database) {}
  func databaseDidRollback(_ db: Database) {}
}
