import GRDB
import Tern
import TestDevice
import Testing

private func named(_ deletes: DeleteRule) throws -> (Device, Device) {
  try Device.pair(
    SyncSchema(version: 1, tables: [SyncTable("t", deletes: deletes)]),
    "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE, color TEXT)")
}

private func lists(_ action: String) throws -> (Device, Device) {
  try Device.pair(
    SyncSchema(version: 1, tables: [SyncTable("list"), SyncTable("item")]),
    """
    CREATE TABLE list (id TEXT NOT NULL PRIMARY KEY, name TEXT);
    CREATE TABLE item (
      id TEXT NOT NULL PRIMARY KEY, list TEXT NOT NULL REFERENCES list \(action), name TEXT);
    """)
}

/// What one row's undo is to the rows around it.
@Suite("Undo: what one row's undo is to the rows around it")
struct UndoNeighbourTests {
  @Test(
    arguments: [
      [
        "UPDATE t SET name = 'third' WHERE id = '1'; UPDATE t SET name = 'x' WHERE id = '2'",
        "UPDATE t SET name = 'y' WHERE id = '1'",
      ],
      ["INSERT OR REPLACE INTO t VALUES ('3', 'x', 'blue')"],
      ["UPDATE OR REPLACE t SET name = 'x' WHERE id = '2'"],
      [
        "UPDATE t SET color = 'blue' WHERE id = '2'; DELETE FROM t WHERE id = '1'",
        "UPDATE t SET name = 'x' WHERE id = '2'",
      ],
    ], [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `names that rows took from each other go back`(_ writes: [String], _ deletes: DeleteRule)
    throws
  {
    let (a, b) = try named(deletes)
    try a.commit("INSERT INTO t VALUES ('1', 'x', 'red'), ('2', 'y', 'green')")
    try meet(a, b)
    try a.store.write { db in for sql in writes { try db.execute(sql: sql) } }
    try meet(a, b)
    #expect(try a.store.undo() != nil)
    let before = ["1xred", "2ygreen"]
    #expect(try a.column("SELECT id || name || color FROM t ORDER BY id") == before)
    try meet(a, b)
    #expect(try b.column("SELECT id || name || color FROM t ORDER BY id") == before)
    try expectEqual(a, b, "t")
  }

  @Test(arguments: ["", "ON DELETE CASCADE", "ON DELETE SET DEFAULT"])
  func `an inserted row stays that others' rows refer to`(_ action: String) throws {
    let (a, b) = try lists(action)
    try a.commit("INSERT INTO list VALUES ('0', 'earlier')")
    try a.commit("INSERT INTO list VALUES ('1', 'a')")
    try meet(a, b)
    try b.commit("INSERT INTO item VALUES ('i', '1', 'b')")
    try meet(a, b)
    let undone = try #require(try a.store.undo())
    #expect(undone.rows.map(\.action) == [.left])
    #expect(undone.rows[0].left["name"] == .changedSince)
    #expect(try a.column("SELECT id FROM item") == ["i"])
    // And the way to what came before is free.
    #expect(try a.store.undo()?.rows.map(\.action) == [.removed])
    try meet(a, b)
    #expect(try b.column("SELECT id FROM list") == ["1"])
    try expectEqual(a, b, "list", "item")
  }

  @Test func `a row of the same operation that somebody changed keeps its parent`() throws {
    let (a, b) = try lists("ON DELETE CASCADE")
    try a.store.write { db in
      try db.execute(sql: "INSERT INTO list VALUES ('1', 'a')")
      try db.execute(sql: "INSERT INTO item VALUES ('i', '1', 'a'), ('j', '1', 'a')")
    }
    try meet(a, b)
    try b.commit("UPDATE item SET name = 'b' WHERE id = 'i'")
    try meet(a, b)
    #expect(try a.store.undo()?.rows.map(\.action) == [.left, .left, .removed])
    try meet(a, b)
    #expect(try b.column("SELECT id || name FROM item") == ["ib"])
    try expectEqual(a, b, "list", "item")
  }

  @Test(arguments: ["", "CASCADE", "SET NULL", "SET DEFAULT", "RESTRICT"])
  func `what referred to a row that is gone by now stays, and what came before is free`(
    _ action: String
  ) throws {
    let (a, b) = try lists(action.isEmpty ? "" : "ON DELETE \(action)")
    try a.commit("INSERT INTO list VALUES ('0', ''), ('1', '')")
    try a.commit("INSERT INTO item VALUES ('i', '0', 'a'), ('j', '0', 'a'), ('k', '1', 'a')")
    try a.commit("UPDATE item SET name = 'earlier' WHERE id = 'k'")
    try a.commit("UPDATE item SET list = '1', name = 'b' WHERE id = 'i'")
    try a.store.write { db in
      try db.execute(sql: "INSERT INTO list VALUES ('2', '')")
      try db.execute(sql: "UPDATE item SET list = '2' WHERE id = 'i'")
    }
    try a.commit("DELETE FROM item WHERE id IN ('j', 'k')")
    try meet(a, b)
    try b.commit("DELETE FROM list WHERE id = '0'")
    try meet(a, b)

    let back = try #require(try a.store.undo())
    #expect(back.rows.map(\.action) == [.left, .broughtBack])
    // A column that is NOT NULL cannot be without.
    let isReleased = action.hasPrefix("SET")
    let reason = isReleased ? UndoneOperation.Reason.refused : .changedSince
    #expect(back.rows[0].left == ["list": reason, "name": reason])
    #expect(try a.store.undo()?.rows.map(\.action) == [.removed, .restored])
    let moved = try #require(try a.store.undo()).rows
    #expect(moved.map(\.action) == [.restored] && moved[0].columns == ["name"])
    #expect(moved[0].left == ["list": .changedSince])
    #expect(try a.store.undo()?.rows.map(\.action) == [.restored])
    #expect(try a.column("SELECT id || list || name FROM item ORDER BY id") == ["i1a", "k1a"])
    try meet(a, b)
    try expectEqual(a, b, "list", "item")
  }

  @Test func `a row that was inserted stays where what was moved to it has no way back`() throws {
    let (a, b) = try lists("ON DELETE CASCADE")
    try a.commit("INSERT INTO list VALUES ('0', '')")
    try a.commit("INSERT INTO item VALUES ('i', '0', '')")
    try a.store.write { db in
      try db.execute(sql: "INSERT INTO list VALUES ('1', '')")
      try db.execute(sql: "UPDATE item SET list = '1'")
    }
    try meet(a, b)
    try b.commit("DELETE FROM list WHERE id = '0'")
    try meet(a, b)
    #expect(try a.store.undo()?.rows.map(\.action) == [.left, .left])
    #expect(try a.column("SELECT id || list FROM item") == ["i1"])
    try meet(a, b)
    try expectEqual(a, b, "list", "item")
  }

  @Test func `a tree stays deleted whose place is gone, and what refers to a part of it`() throws {
    let (a, b) = try Device.pair(
      SyncSchema(version: 1, tables: [SyncTable("node")]),
      """
      CREATE TABLE node (
        id TEXT NOT NULL PRIMARY KEY, up TEXT REFERENCES node ON DELETE CASCADE, name TEXT);
      """)
    let shown = "SELECT id || ifnull(up, '-') || ifnull(name, '') FROM node ORDER BY id"
    try a.commit("INSERT INTO node VALUES ('r', NULL, ''), ('s', NULL, ''), ('m', NULL, '')")
    let count = 40
    for index in 1...count {
      try a.execute(
        "INSERT INTO node VALUES (?, ?, '')", [100 + index, index == 1 ? "r" : "\(99 + index)"])
    }
    try a.commit("INSERT INTO node VALUES ('t', 's', '')")
    try a.commit("UPDATE node SET up = '110' WHERE id = 'm'")
    try a.store.write { db in
      try db.execute(sql: "UPDATE node SET up = NULL, name = 'moved' WHERE id = 'm'")
      try db.execute(sql: "DELETE FROM node WHERE id IN ('101', 't')")
    }
    #expect(try a.column(shown) == ["m-moved", "r-", "s-"])
    try meet(a, b)
    try b.commit("DELETE FROM node WHERE id = 'r'")
    try meet(a, b)
    let inserts = StatementCount("INSERT OR ABORT", of: a)
    let undone = try #require(try a.store.undo())
    // Found all at once, not one below the other.
    #expect(count...2 * count ~= inserts.value, "\(inserts.value)")
    #expect(undone.rows.filter { $0.action == .left }.count == count)
    #expect(undone.rows.first { $0.key == ["m"] }?.left == ["up": .changedSince])
    #expect(try a.column(shown) == ["m-", "s-", "ts"])
    try meet(a, b)
    try expectEqual(a, b, "node")
  }

  @Test func `a row goes that only rows of its own operation referred to`() throws {
    let (a, b) = try lists("ON DELETE CASCADE")
    try a.commit("INSERT INTO list VALUES ('0', 'a')")
    try a.commit("INSERT INTO item VALUES ('i', '0', 'a')")
    try a.store.write { db in
      try db.execute(sql: "INSERT INTO list VALUES ('1', 'a')")
      try db.execute(sql: "INSERT INTO item VALUES ('j', '1', 'a')")
      try db.execute(sql: "UPDATE item SET list = '1' WHERE id = 'i'")
    }
    try meet(a, b)
    #expect(try a.store.undo() != nil)
    #expect(try a.column("SELECT id || list FROM item") == ["i0"])
    #expect(try a.column("SELECT id FROM list") == ["0"])
    try meet(a, b)
    try expectEqual(a, b, "list", "item")
  }
}
