import GRDB
import Tern
import TestDevice
import Testing

private let lists = """
  CREATE TABLE list (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE);
  CREATE TABLE item (
    id TEXT NOT NULL PRIMARY KEY, list TEXT NOT NULL REFERENCES list ON DELETE CASCADE, name TEXT,
    n INTEGER NOT NULL DEFAULT 0);
  """

private func pair(_ deletes: DeleteRule = .deleteWins) throws -> (Device, Device) {
  // Children first, so that an order of tables does not do.
  let tables = [
    SyncTable("item", merge: ["n": .counter], deletes: deletes),
    SyncTable("list", deletes: deletes),
  ]
  return try Device.pair(SyncSchema(version: 1, tables: tables), lists)
}

extension Device {
  fileprivate var items: [String?] {
    get throws { try column("SELECT id || list || coalesce(name, '') || n FROM item ORDER BY id") }
  }
  fileprivate var lists: [String?] {
    get throws { try column("SELECT id || name FROM list ORDER BY id") }
  }
}

private let start = """
  INSERT INTO list VALUES ('1', 'a'), ('2', 'b'), ('3', 'c');
  INSERT INTO item VALUES ('i', '1', 'x', 1), ('j', '1', 'y', 2), ('k', '2', 'z', 3);
  """

@Suite("Undo: what reverting one row is to the rows around it")
struct UndoRevertNeighbourTests {
  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `parents come back with their children`(_ deletes: DeleteRule) async throws {
    let (a, m) = try pair(deletes)
    try a.commit(start)
    try meet(a, m)
    let (items, lists) = (try a.items, try a.lists)
    try m.commit("DELETE FROM item WHERE id = 'i'")
    try m.commit("DELETE FROM list WHERE id = '1'")
    try m.commit("DELETE FROM list")
    try meet(a, m)
    #expect(try a.lists.isEmpty && a.items.isEmpty)
    let reverted = try await a.revert(m, after: 0)
    #expect(reverted.rows.count == 6 && Set(reverted.actions) == [.broughtBack])
    #expect(try a.items == items && a.lists == lists)
    try meet(a, m)
    try expectEqual(a, m, "item", "list")
    try expectHealthy(a)
  }

  @Test func `rows quarantined for what the author wrote are shown again`() async throws {
    let (a, m) = try pair()
    try a.commit(start)
    try meet(a, m)
    let (items, lists) = (try a.items, try a.lists)
    // All items refer to nothing, and a list has another's name.
    try await m.database.writeWithoutTransaction { db in
      try db.execute(
        sql: "PRAGMA foreign_keys = OFF; UPDATE item SET list = 'nowhere', n = n + 10")
    }
    try m.store.seal()
    try a.commit("INSERT INTO list VALUES ('4', 'd')")
    try delay(m, after: a)
    try m.commit("UPDATE list SET name = 'd' WHERE id = '3'")
    try meet(a, m)
    #expect(try a.items.isEmpty && a.lists == ["1a", "2b", "3d"])
    let reverted = try await a.revert(m, after: 0)
    #expect(reverted.rows.allSatisfy { $0.left.isEmpty && $0.action == .restored })
    #expect(try a.items == items)
    #expect(try a.lists == lists + ["4d"])
    try await m.database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA foreign_keys = ON") }
    try meet(a, m)
    try expectEqual(a, m, "item", "list")
    try expectHealthy(a)
    #expect(try await a.revert(m, after: 0).rows.isEmpty)
    #expect(try a.items == items)
  }

  @Test func `a row whose value another has by now is left, and comes back once it can`()
    async throws
  {
    let (a, m) = try pair()
    try a.commit(start)
    try meet(a, m)
    try m.commit("DELETE FROM list WHERE id IN ('1', '3')")
    try meet(a, m)
    try a.commit("INSERT INTO list VALUES ('4', 'a')")
    let reverted = try await a.revert(m, after: 0)
    let left = reverted.rows.filter { $0.action == .left }
    #expect(left.first { $0.table == "list" }?.left == ["name": .refused])
    // Its children have no parent without it.
    #expect(left.count == 3 && reverted.rows.count == 4)
    #expect(try a.lists == ["2b", "3c", "4a"] && a.items == ["k2z3"])
    try a.commit("UPDATE list SET name = 'mine' WHERE id = '4'")
    #expect(try await a.revert(m, after: 0).rows.count { $0.action == .broughtBack } == 3)
    #expect(try a.lists == ["1a", "2b", "3c", "4mine"] && a.items.count == 3)
    try meet(a, m)
    try expectEqual(a, m, "item", "list")
  }

  @Test func `names that the author swapped go back`() async throws {
    let (a, m) = try pair()
    try a.commit(start)
    try meet(a, m)
    try m.commit("UPDATE list SET name = 'spare' WHERE id = '1'")
    try m.commit("UPDATE list SET name = 'a' WHERE id = '2'")
    try m.commit("UPDATE list SET name = 'b' WHERE id = '1'")
    try meet(a, m)
    try await a.revert(m, after: 0)
    #expect(try a.lists == ["1a", "2b", "3c"])
    try meet(a, m)
    try expectEqual(a, m, "item", "list")
  }

  @Test func `an inserted row stays that others' rows refer to`() async throws {
    let (a, m) = try pair()
    try a.commit(start)
    try meet(a, m)
    try m.commit("INSERT INTO list VALUES ('8', 'bad'), ('9', 'bad too')")
    try meet(a, m)
    try a.commit("INSERT INTO item VALUES ('own', '9', 'x', 0)")
    let reverted = try await a.revert(m, after: 0)
    #expect(reverted.actions == [.removed, .left])
    #expect(try a.lists.count == 4 && a.items.count == 4)
  }

  @Test func `the app's triggers run, and what one refuses takes nothing back`() async throws {
    let (a, m) = try pair()
    try a.commit(start)
    try meet(a, m)
    try m.commit("DELETE FROM list")
    try meet(a, m)
    try a.execute(
      """
      CREATE TABLE audit (id);
      CREATE TRIGGER audited AFTER INSERT ON list BEGIN INSERT INTO audit VALUES (NEW.id); END;
      CREATE TRIGGER refused BEFORE INSERT ON item BEGIN SELECT RAISE(ABORT, 'not now'); END;
      """)
    await #expect(throws: DatabaseError.self) { try await a.revert(m, after: 0) }
    #expect(try a.lists.isEmpty && a.items.isEmpty)
    // A child that wants its parent first gets it.
    try a.execute(
      """
      DROP TRIGGER refused;
      CREATE TRIGGER refused BEFORE INSERT ON item
      WHEN NOT EXISTS (SELECT 1 FROM list WHERE id = NEW.list)
      BEGIN SELECT RAISE(ABORT, 'no parent'); END;
      """)
    try await a.revert(m, after: 0)
    #expect(try a.items == ["i1x1", "j1y2", "k2z3"])
    #expect(try Set(a.column("SELECT id FROM audit")) == ["1", "2", "3"])
  }

  @Test(.timeLimit(.minutes(1))) func `observers are told`() async throws {
    let (a, m) = try pair()
    try a.commit(start)
    try meet(a, m)
    try m.commit("DELETE FROM list")
    try meet(a, m)
    let counts = ValueObservation.tracking {
      try Int.fetchOne($0, sql: "SELECT count(*) FROM item")
    }
    var values = counts.values(in: a.database).makeAsyncIterator()
    #expect(try await values.next() == 0)
    try await a.revert(m, after: 0)
    while let count = try await values.next(), count != 3 {}
    #expect(try a.items.count == 3)
  }

  @Test func `tables that this app does not know are named`() async throws {
    let m = try Device(
      SyncSchema(version: 2, tables: [SyncTable("list"), SyncTable("more")]), id: 2
    ) { try $0.execute(sql: lists + "CREATE TABLE more (id TEXT NOT NULL PRIMARY KEY)") }
    let a = try Device(SyncSchema(version: 1, tables: [SyncTable("list")]), id: 1) {
      try $0.execute(sql: lists)
    }
    try m.commit("INSERT INTO list VALUES ('1', 'a'); INSERT INTO more VALUES ('1')")
    try a.pull(from: m)
    let reverted = try await a.revert(m, after: 0)
    #expect(reverted.unknownTables == ["more"] && reverted.actions == [.removed])
    #expect("\(reverted)".hasSuffix("rows of “list”: 1 removed; not synced here: “more”"))
  }
}
