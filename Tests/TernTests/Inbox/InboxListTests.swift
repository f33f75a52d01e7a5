import GRDB
import Tern
import TestDevice
import Testing

@Suite("Inbox: one list")
struct InboxListTests {
  @Test
  func `rows that are kept out are listed on both devices, with who, when and what is in the way`()
    throws
  {
    let (a, b) = try Household.displaced()
    let kinds = [
      "displaced tag ['2']", "parentMissing recipe ['r']", "parentMissing step ['s']",
    ]
    #expect(try a.listedEntries == kinds && b.listedEntries == kinds)
    let (left, right) = (
      try #require(try a.entry(.displaced)), try #require(try b.entry(.displaced))
    )
    for entry in [left, right] {
      #expect(entry.values["name"] == "Meals" && entry.values["note"] == "second")
      #expect(entry.rows == [.init(table: "tag", columns: ["id"], values: ["1"])])
      #expect(entry.loser?.author == ReplicaID(high: 0, low: 2))
      #expect(entry.winner?.author == ReplicaID(high: 0, low: 1))
      #expect(entry.loser?.time ?? .zero > entry.winner?.time ?? .zero)
      #expect(entry.found == nil && entry.actions == [.show, .discard, .dismiss])
    }
    // What stays on a device is told there alone.
    #expect(left.values["seen"] == .null && right.values["seen"] == "b")
    let recipe = try #require(try a.entry(.parentMissing))
    #expect(recipe.rows == [.init(table: "tag", columns: ["id"], values: ["2"])])
    #expect(recipe.winner == nil && recipe.values["cooked"] == 3)
    try expectEqual(a, b, "recipe", "step")
  }

  @Test func `what a table refuses has an entry, and an insert that has not come`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("t")])
    let a = try Device(schema, id: 1) {
      try $0.execute(sql: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, x)")
    }
    let b = try Device(schema, id: 2) {
      try $0.execute(sql: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, x NOT NULL CHECK (x < 9))")
    }
    try a.commit("INSERT INTO t VALUES ('1', 10), ('2', NULL), ('3', 3)")
    try b.pull(from: a)
    #expect(try b.listedEntries == ["refused t ['1']", "refused t ['2']"])
    let entry = try #require(try b.entry(.refused))
    #expect(entry.loser?.author == ReplicaID(high: 0, low: 1) && entry.winner == nil)
    #expect(try a.inbox.isEmpty && b.replica.rowsOutOfSight() == [])
  }

  @Test(arguments: [1, 2, 3, 7]) func `pages give each entry once, lost values first`(_ size: Int)
    async throws
  {
    let (a, b) = try Household.displaced()
    for index in 1...2 {
      try a.commit("UPDATE tag SET note = 'a\(index)' WHERE id = '1'")
      try b.commit("UPDATE tag SET note = 'b\(index)' WHERE id = '1'")
      try meetTwice(a, b)
    }
    let all = try a.inbox
    #expect(
      all.map(\.kind.rawValue).sorted() == [
        "displaced", "lastWriter", "lastWriter", "parentMissing", "parentMissing",
      ])
    #expect(all.prefix(2).allSatisfy { $0.kind == .lastWriter } && all[0].id > all[1].id)
    var pages: [InboxEntry] = []
    while true {
      let page = try await a.replica.inbox(after: pages.last, limit: size)
      #expect(page.count <= size)
      pages += page
      if page.count < size { break }
    }
    #expect(pages == all)
    #expect(try await a.replica.inbox(limit: 0).isEmpty)
    #expect(try await a.replica.inbox(of: []).isEmpty)
    #expect(try await a.replica.inbox(of: [.displaced, .lastWriter]).count == 3)
    #expect(try await a.replica.inbox(of: [.parentMissing], limit: 1) == [all[3]])
  }

  @Test func `an observation is told of rows that come, change and go, and not of other merges`()
    async throws
  {
    let (a, b) = (try Household.device(1), try Household.device(2))
    let observation = ValueObservation.tracking { db in
      try b.replica.inbox(in: db).map { "\($0.kind) \($0.rows.count)" }
    }
    var lists = observation.values(in: b.database).makeAsyncIterator()
    #expect(try await lists.next() == [])
    try a.commit("INSERT INTO tag (id, name) VALUES ('1', 'meals')")
    try delay(b, after: a)
    try b.commit("INSERT INTO tag (id, name) VALUES ('2', 'meals')")
    try meetTwice(a, b)
    try await expectNext(["displaced 1"], &lists)
    try a.commit("INSERT INTO tag (id, name) VALUES ('3', 'else')")
    try meetTwice(a, b)
    try a.commit("UPDATE tag SET name = 'x' WHERE id = '1'")
    try meetTwice(a, b)
    try await expectNext([], &lists)
  }

  /// An earlier Tern stored children of deleted parents.
  @Test func `what an earlier Tern stored of children is not listed twice, and goes`() throws {
    let (a, b) = (try Household.device(1), try Household.device(2))
    try a.commit("INSERT INTO tag (id, name) VALUES ('1', 'meals')")
    try meetTwice(a, b)
    try a.commit("DELETE FROM tag")
    try b.commit("INSERT INTO recipe (id, tag) VALUES ('r', '1')")
    try meetTwice(a, b)
    #expect(try a.listedEntries == ["orphaned recipe ['r']"])
    try a.execute(
      """
      INSERT INTO grdb_tern_main_inbox
      SELECT 1, tbl, key, 'parentDeleted', content, 0, 0, 0, 0, 0 FROM grdb_tern_main_held
      """)
    #expect(try a.listedEntries == ["orphaned recipe ['r']"])
    try a.commit("INSERT INTO tag (id, note) VALUES ('2', 'x')")
    try meetTwice(a, b)
    try a.commit("UPDATE tag SET note = 'a'")
    try b.commit("UPDATE tag SET note = 'b'")
    try meetTwice(a, b)
    #expect(try a.listedEntries == ["lastWriter tag ['2']", "orphaned recipe ['r']"])
    #expect(try a.column("SELECT kind FROM grdb_tern_main_inbox") == ["lastWriter"])
    try expectEqual(a, b, "recipe")
  }
}
