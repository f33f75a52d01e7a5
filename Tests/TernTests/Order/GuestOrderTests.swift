import GRDB
import Tern
import TernTesting
import TestDevice
import Testing

private let creation = """
  CREATE TABLE task (id TEXT NOT NULL PRIMARY KEY, list TEXT, title TEXT, position TEXT)
  """
private let schema = SyncSchema(
  version: 1, tables: [SyncTable("task", merge: ["position": .order])])

private func device(_ id: UInt64, _ sql: String = creation) throws -> Device {
  try Device(schema, id: id) { try $0.execute(sql: sql) }
}

extension Device {
  fileprivate func add(_ ids: String..., at place: OrderPlace = .last, list: String? = nil) throws {
    try database.write { db in
      for id in ids {
        let position = try replica.orderKey("task", at: place, in: db)
        try db.execute(
          sql: "INSERT INTO task VALUES (?, ?, 't', ?)", arguments: [id, list, position.text])
      }
    }
  }

  fileprivate func move(_ id: String, to place: OrderPlace, scope: [String: SQLiteValue] = [:])
    throws
  {
    try database.write { db in
      _ = try replica.move("task", key: [.string(id)], to: place, scope: scope, in: db)
    }
  }

  fileprivate var order: [String] {
    get throws { try column("SELECT id FROM task ORDER BY position, id").compactMap { $0 } }
  }

  fileprivate var keys: [String?] {
    get throws { try column("SELECT position FROM task") }
  }
}

@Suite("Order: rows that are moved in a list")
struct GuestOrderTests {
  @Test func `rows go first, last, behind and before others`() throws {
    let a = try device(1)
    try a.add("a", "b", "c")
    try a.add("d", at: .first)
    try a.add("e", at: .after(["a"]))
    #expect(try a.order == ["d", "a", "e", "b", "c"])
    try a.move("c", to: .before(["a"]))
    try a.move("d", to: .last)
    try a.move("b", to: .first)
    try a.move("a", to: .after(["e"]))
    #expect(try a.order == ["b", "c", "e", "a", "d"])
  }

  @Test func `a move is one write of one column`() throws {
    let (a, b) = (try device(1), try device(2))
    try a.add("a", "b", "c")
    try meet(a, b)
    try a.move("a", to: .last)
    try b.execute("UPDATE task SET title = 'new' WHERE id = 'a'")
    try meet(a, b)
    try expectEqual(a, b, "task")
    #expect(try b.order == ["b", "c", "a"])
    #expect(try a.column("SELECT title FROM task WHERE id = 'a'") == ["new"])
  }

  @Test func `rows moved to one spot at once stand beside each other, and more go between them`()
    throws
  {
    let (a, b) = (try device(1), try device(2))
    try a.add("a", "b", "x", "y")
    try meet(a, b)
    try a.move("x", to: .after(["a"]))
    try b.move("y", to: .after(["a"]))
    try meet(a, b)
    try expectEqual(a, b, "task")
    let order = try a.order
    #expect(Set(order[1...2]) == ["x", "y"] && order[0] == "a" && order[3] == "b")
    #expect(try Set(a.keys).count == 4)
    try a.move("b", to: .after([.string(order[1])]))
    #expect(try a.order == ["a", order[1], "b", order[2]])
  }

  @Test func `of two moves of one row the later stays, and counts as a conflict`() throws {
    let (a, b) = (try device(1), try device(2))
    try a.add("a", "b", "c")
    try meet(a, b)
    try a.move("b", to: .first)
    try a.store.seal()
    try b.move("b", to: .last)
    try meet(a, b)
    try expectEqual(a, b, "task")
    #expect(try a.order == ["a", "c", "b"] || a.order == ["b", "a", "c"])
    #expect(try a.store.counts().conflicts == [.lastWriter: 1])
  }

  @Test func `a list that has no keys yet gets them in its order when a row moves`() throws {
    let (a, b) = (try device(1), try device(2))
    try a.execute("INSERT INTO task (id) VALUES ('a'), ('b'), ('c'), ('d')")
    try meet(a, b)
    try a.move("d", to: .after(["b"]))
    #expect(try a.order == ["a", "b", "d", "c"])
    #expect(try a.keys.allSatisfy { $0.flatMap { OrderKey($0) } != nil })
    try meet(a, b)
    try expectEqual(a, b, "task")
    #expect(try b.order == ["a", "b", "d", "c"])
  }

  @Test(arguments: ["NULL", "''", "'no key'", "'~'", "7", "x'00ff'", "CAST(x'ff' AS TEXT)", "0.5"])
  func `what is no key travels, is sorted by SQLite, and gets a key when a row moves there`(
    _ value: String
  ) throws {
    let (a, b) = (try device(1), try device(2))
    try a.add("a", "b", "c", "d")
    try b.pull(from: a)
    try a.execute("UPDATE task SET position = \(value) WHERE id IN ('b', 'c')")
    try meet(a, b)
    try expectEqual(a, b, "task")
    let order = try b.order.filter { $0 != "d" }
    let anchor = try #require(order.firstIndex(of: "b"))
    try b.move("d", to: .after(["b"]))
    #expect(try b.order == Array(order[...anchor]) + ["d"] + order[(anchor + 1)...])
    #expect(try b.keys.allSatisfy { $0.flatMap { OrderKey($0) } != nil })
    try meet(a, b)
    try expectEqual(a, b, "task")
  }

  @Test func `copied keys stand by the rows' keys, and a row that goes between parts them`() throws
  {
    let a = try device(1)
    try a.add("a", "b", "c")
    try a.execute(
      "UPDATE task SET position = (SELECT position FROM task WHERE id = 'a') WHERE id <> 'a'")
    #expect(try a.order == ["a", "b", "c"])
    try a.move("c", to: .after(["a"]))
    #expect(try a.order == ["a", "c", "b"])
    #expect(try Set(a.keys).count == 3)
  }

  @Test func `a list within a table moves no row of another`() throws {
    let a = try device(1)
    for (id, list) in [("a1", "a"), ("b1", "b"), ("a2", "a"), ("b2", "b")] {
      try a.execute("INSERT INTO task (id, list) VALUES (?, ?)", [id, list])
    }
    try a.move("a2", to: .first, scope: ["list": "a"])
    #expect(try a.column("SELECT id FROM task WHERE list = 'a' ORDER BY position") == ["a2", "a1"])
    #expect(try a.column("SELECT position FROM task WHERE list = 'b'") == [nil, nil])
    try a.move("b1", to: .last, scope: ["list": "b"])
    #expect(try a.column("SELECT id FROM task WHERE list = 'b' ORDER BY position") == ["b2", "b1"])
  }

  @Test func `keys of several columns, blobs and texts that are no UTF-8 name rows`() throws {
    let a = try device(
      1,
      """
      CREATE TABLE task (
        a BLOB NOT NULL, b TEXT NOT NULL, n INTEGER NOT NULL, position TEXT, PRIMARY KEY (a, b, n))
      """)
    try a.execute(
      "INSERT INTO task (a, b, n) VALUES (x'00', CAST(x'ff' AS TEXT), 1), (x'', 'b', -2)")
    try a.database.write { db in
      let odd: [SQLiteValue] = [.blob([0]), .text([0xFF]), 1]
      _ = try a.replica.move("task", key: odd, to: .before([.blob([]), "b", -2]), in: db)
      _ = try a.replica.move("task", key: [.blob([]), "b", -2], to: .after(odd), in: db)
    }
    #expect(try a.column("SELECT n FROM task ORDER BY position") == ["1", "-2"])
  }

  @Test func `a move in a transaction that rolls back leaves nothing`() throws {
    let a = try device(1)
    try a.add("a", "b")
    try a.store.seal()
    struct Refused: Error {}
    #expect(throws: Refused.self) {
      try a.database.write { db in
        _ = try a.replica.move("task", key: ["a"], to: .last, in: db)
        throw Refused()
      }
    }
    #expect(try a.order == ["a", "b"])
    #expect(try a.store.seal().isEmpty)
  }

  @Test func `rows, tables and columns that cannot be placed are named`() throws {
    let a = try device(1)
    try a.add("a", "b")
    try a.database.write { db in
      func code(_ body: () throws -> Void) -> RowLookupError.Code? {
        #expect(throws: RowLookupError.self, performing: body)?.code
      }
      #expect(
        code { try a.replica.move("task", key: ["x"], to: .last, in: db) } == .missingRow)
      #expect(
        code { try a.replica.move("task", key: ["a"], to: .after(["x"]), in: db) } == .missingRow)
      #expect(
        code { try a.replica.move("task", key: ["a"], to: .after(["a"]), in: db) } == .missingRow)
      #expect(
        code { _ = try a.replica.move("task", key: ["a", "b"], to: .last, in: db) } == .wrongKey)
      #expect(
        code { _ = try a.replica.orderKey("nothing", at: .last, in: db) } == .unknownTable)
      #expect(
        code { _ = try a.replica.orderKey("task", at: .last, column: "title", in: db) } == .noOrder)
    }
    #expect(try a.order == ["a", "b"])
  }

  @Test(arguments: [
    "position INTEGER", "position", "position TEXT COLLATE NOCASE", "position BLOB",
  ])
  func `a column that does not sort texts by their bytes is refused at open`(_ column: String)
    throws
  {
    let error = #expect(throws: SchemaError.self) {
      try device(1, "CREATE TABLE task (id TEXT NOT NULL PRIMARY KEY, \(column))")
    }
    #expect(error?.code == .unsupportedRule)
    #expect(error?.column == "position")
  }

  @Test func `the rule of a column is kept, and another one refused`() throws {
    let a = try device(1)
    #expect(throws: SchemaError.self) {
      try a.upgraded(SyncSchema(version: 2, tables: [SyncTable("task")]))
    }
  }
}
