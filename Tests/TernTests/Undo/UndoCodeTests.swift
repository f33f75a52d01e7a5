import GRDB
import Synchronization
import Tern
import TestDevice
import Testing

private func creation(_ child: String) -> String {
  """
  CREATE TABLE p (id TEXT NOT NULL PRIMARY KEY, code TEXT UNIQUE) STRICT;
  CREATE TABLE c (id TEXT NOT NULL PRIMARY KEY, code TEXT \(child));
  CREATE TABLE own (id INTEGER PRIMARY KEY, code TEXT REFERENCES p (code) ON UPDATE CASCADE);
  """
}

private let swapping = """
  UPDATE p SET code = 'x' WHERE id = '1'; UPDATE p SET code = 'A' WHERE id = '2';
  UPDATE p SET code = 'B' WHERE id = '1';
  """

/// How many of a kind a connection ran.
final class StatementCount: Sendable {
  private let number = Mutex(0)

  var value: Int { number.withLock { $0 } }

  init(_ kind: String, of device: Device) {
    device.database.writeWithoutTransaction { db in
      db.trace { if "\($0)".hasPrefix(kind) { self.number.withLock { $0 += 1 } } }
    }
  }
}

/// Rows that others refer to by a column of a UNIQUE index, not by their key.
@Suite("Undo: rows that others refer to by a UNIQUE column")
struct UndoCodeTests {
  /// With a row of each parent, and one of a table that does not sync.
  private func inBothOrders(
    _ child: String, _ body: (Device, Device) throws -> Void
  ) throws {
    for tables in [["p", "c"], ["c", "p"]] {
      let (a, b) = try Device.pair(
        SyncSchema(version: 1, tables: tables.map { SyncTable($0) }), creation(child))
      try a.commit(
        """
        INSERT INTO p VALUES ('1', 'A'), ('2', 'B');
        INSERT INTO c VALUES ('1', 'A'), ('2', 'B'); INSERT INTO own VALUES (1, 'A'), (2, 'B')
        """)
      try meet(a, b)
      try body(a, b)
      try meet(a, b)
      try expectEqual(a, b, "p", "c")
      for device in [a, b] {
        #expect(try device.column("SELECT id || code FROM p ORDER BY id") == ["1A", "2B"])
        #expect(try device.rows("PRAGMA foreign_key_check(c)").isEmpty)
      }
      #expect(try a.column("SELECT id || code FROM own ORDER BY id") == ["1A", "2B"])
    }
  }

  @Test(arguments: ["", "NOT NULL"])
  func `children follow parents that swap their codes back, also those that came since`(
    _ null: String
  ) throws {
    try inBothOrders("\(null) REFERENCES p (code) ON UPDATE CASCADE ON DELETE CASCADE") { a, b in
      try a.store.write { try $0.execute(sql: swapping) }
      try meet(a, b)
      #expect(try a.column("SELECT id || code FROM c ORDER BY id") == ["1B", "2A"])
      try b.commit("INSERT INTO c VALUES ('3', 'B')")
      try meet(a, b)
      #expect(try Set(#require(try a.store.undo()).rows.map(\.action)) == [.restored])
      #expect(try a.column("SELECT id || code FROM c ORDER BY id") == ["1A", "2B", "3A"])
    }
  }

  @Test(arguments: ["SET NULL", "SET DEFAULT"])
  func `children get back what parents that swapped their codes took from them`(_ action: String)
    throws
  {
    try inBothOrders("REFERENCES p (code) ON UPDATE \(action)") { a, b in
      try a.store.write { try $0.execute(sql: swapping) }
      try meet(a, b)
      #expect(try a.column("SELECT code FROM c") == [nil, nil])
      #expect(try a.store.undo() != nil)
      #expect(try a.column("SELECT id || code FROM c ORDER BY id") == ["1A", "2B"])
    }
  }

  @Test func `a child that has its value already is not moved by the next parent's`() throws {
    try inBothOrders("REFERENCES p (code) ON UPDATE CASCADE") { a, b in
      try a.store.write { db in
        try db.execute(
          sql: """
            UPDATE p SET code = 'C' WHERE id = '2'; UPDATE p SET code = 'B' WHERE id = '1';
            """)
      }
      try meet(a, b)
      #expect(try a.store.undo() != nil)
      #expect(try a.column("SELECT id || code FROM c ORDER BY id") == ["1A", "2B"])
    }
  }

  @Test func `a code goes back to its row from the one that was inserted with it`() throws {
    try inBothOrders("REFERENCES p (code) ON UPDATE CASCADE ON DELETE CASCADE") { a, b in
      try a.store.write { db in
        try db.execute(
          sql: "UPDATE p SET code = 'C' WHERE id = '1'; INSERT INTO p VALUES ('3', 'A')")
      }
      try meet(a, b)
      #expect(try a.store.undo() != nil)
      #expect(try a.column("SELECT id || code FROM c ORDER BY id") == ["1A", "2B"])
    }
  }

  @Test(arguments: [
    swapping, "UPDATE p SET code = 'E' WHERE id = '2'; UPDATE p SET code = 'B' WHERE id = '1'",
  ])
  func `codes go back in a table that refers to itself`(_ change: String) throws {
    let (a, b) = try Device.pair(
      SyncSchema(version: 1, tables: [SyncTable("t")]),
      """
      CREATE TABLE t (
        id TEXT NOT NULL PRIMARY KEY, code TEXT UNIQUE,
        up TEXT REFERENCES t (code) ON UPDATE CASCADE)
      """)
    let select = "SELECT id || code || ifnull(up, '') FROM t ORDER BY id"
    try a.commit(
      "INSERT INTO t VALUES ('1', 'A', NULL), ('2', 'B', NULL), ('3', 'C', 'A'), ('4', 'D', 'B')")
    let before = try a.column(select)
    try a.store.write { try $0.execute(sql: change.replacing("UPDATE p", with: "UPDATE t")) }
    try meet(a, b)
    #expect(try a.column(select) != before)
    #expect(try a.store.undo() != nil)
    #expect(try a.column(select) == before)
    try meet(a, b)
    try expectEqual(a, b, "t")
  }

  @Test func `rows stay whose key has a code that two parents swap`() throws {
    let (a, b) = try Device.pair(
      SyncSchema(version: 1, tables: [SyncTable("p"), SyncTable("line")]),
      """
      CREATE TABLE p (id TEXT NOT NULL PRIMARY KEY, code TEXT UNIQUE);
      CREATE TABLE line (
        code TEXT NOT NULL REFERENCES p (code) ON UPDATE CASCADE, n INTEGER NOT NULL, name TEXT,
        PRIMARY KEY (code, n)) WITHOUT ROWID;
      """)
    try a.commit(
      """
      INSERT INTO p VALUES ('1', 'A'), ('2', 'B');
      INSERT INTO line VALUES ('A', 1, 'one'), ('B', 1, 'two')
      """)
    try a.store.write { try $0.execute(sql: swapping) }
    try meet(a, b)
    #expect(try a.column("SELECT code || name FROM line ORDER BY code") == ["Atwo", "Bone"])
    #expect(try a.store.undo() != nil)
    #expect(try a.column("SELECT code || name FROM line ORDER BY code") == ["Aone", "Btwo"])
    try meet(a, b)
    try expectEqual(a, b, "p", "line")
  }

  @Test(arguments: ["", "STRICT"], ["", "CHECK (pos >= 0)"])
  func `places that each row took from the next go back in few statements`(
    _ kind: String, _ check: String
  ) throws {
    func statements(_ count: Int) throws -> Int {
      let a = try Device(SyncSchema(version: 1, tables: [SyncTable("t")]), id: 1) { db in
        try db.execute(
          sql: """
            CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, pos INTEGER NOT NULL UNIQUE \(check)) \(kind)
            """)
      }
      let away = 1_000_000
      try a.commit(
        """
        WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < \(count) - 1)
        INSERT INTO t SELECT printf('%05d', i), i FROM n
        """)
      try a.store.write { db in
        try db.execute(
          sql: """
            UPDATE t SET pos = pos + \(away); UPDATE t SET pos = pos - \(away) + 1;
            INSERT INTO t VALUES ('top', 0);
            """)
      }
      let updates = StatementCount("UPDATE OR ABORT", of: a)
      #expect(try a.store.undo() != nil)
      #expect(
        try a.column("SELECT id FROM t WHERE id <> printf('%05d', pos)") == [])
      #expect(try a.column("SELECT count(*) FROM t") == ["\(count)"])
      return updates.value
    }
    let few = try statements(20)
    let many = try statements(80)
    #expect(few >= 20 && many <= 80 * 10, "\(few), \(many)")
  }
}
