import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE book (isbn TEXT NOT NULL PRIMARY KEY, title, scans INTEGER NOT NULL DEFAULT 0,
    tags TEXT NOT NULL DEFAULT '[]')
  """

private func schema(_ version: UInt32 = 1, renamed: [String: String] = [:]) -> SyncSchema {
  SyncSchema(
    version: version,
    tables: [
      SyncTable("book", merge: ["scans": .counter, "tags": .set], formerColumnNames: renamed)
    ])
}

private func device(_ id: UInt64) throws -> Device {
  try Device(schema(), id: id) { try $0.execute(sql: creation) }
}

private let (idA, idB) = (ReplicaID(high: 0, low: 1), ReplicaID(high: 0, low: 2))

extension Device {
  fileprivate func history(_ key: SQLiteValue = "1") async throws -> [RowHistory.Change] {
    let page = try await replica.history("book", key: [key])
    #expect(page.next == nil)
    return page.changes
  }
}

@Suite("Explain: the history of a row")
struct HistoryTests {
  @Test func `all changes of a row come in the order of time, with what travelled`() async throws {
    let (a, b) = (try device(1), try device(2))
    try a.commit(#"INSERT INTO book VALUES ('1', 'Dune', 3, '["x","y"]'), ('2', '1', 1, '[]')"#)
    try meet(a, b)
    // Of two writes in one millisecond b's is the later, by its id.
    try a.commit(#"UPDATE book SET title = 'D', tags = '["x","z"]' WHERE isbn = '1'"#)
    try b.commit("UPDATE book SET scans = scans - 2 WHERE isbn = '1'")
    try meet(a, b)
    try b.commit("DELETE FROM book WHERE isbn = '1'")
    try b.commit("INSERT INTO book (isbn) VALUES ('1')")
    try meet(a, b)
    let changes = try await a.history()
    #expect(changes.map(\.kind) == [.insert, .update, .update, .delete, .insert])
    #expect(changes.map(\.stamp.author) == [idA, idA, idB, idB, idB])
    #expect(changes.map(\.stamp.isOwn) == [true, true, false, false, false])
    #expect(changes.map(\.sequence) == [1, 2, 1, 2, 3])
    #expect(changes.map(\.generation) == [1, 1, 1, 2, 3])
    #expect(changes.map(\.stamp.time) == changes.map(\.stamp.time).sorted())
    #expect(changes.filter(\.isMerged).count == 5)
    #expect(changes[0].columns.map(\.name) == ["title", "scans", "tags"])
    #expect(changes[0].columns.map(\.rule) == [.lastWriter, .counter, .set])
    #expect(
      changes[0].columns.map(\.content) == [
        .value("Dune"), .difference(3), .set(added: ["x", "y"], removed: []),
      ])
    #expect(
      changes[1].columns.map(\.content) == [.value("D"), .set(added: ["z"], removed: ["y"])])
    #expect(changes[2].columns.map(\.content) == [.difference(-2)])
    #expect(changes[3].columns.isEmpty)
    #expect(changes[3].description.hasPrefix("delete by \(idB) at "))
    // Another device tells the same, but for which changes are its own.
    let others = try await b.history()
    #expect(others.map(\.sequence) == changes.map(\.sequence))
    #expect(others.map(\.columns) == changes.map(\.columns))
    #expect(try await a.history("2").count == 1)
    #expect(try await a.history("none").isEmpty)
  }

  @Test(arguments: [1, 2, 3, 100])
  func `pages follow each other without a gap or a repetition`(_ limit: Int) async throws {
    let (a, b) = (try device(1), try device(2))
    try a.commit("INSERT INTO book (isbn, title) VALUES ('1', '1'), ('11', '1')")
    try meet(a, b)
    for round in 1...4 {
      try a.commit("UPDATE book SET title = 'a\(round)' WHERE isbn = '1'")
      // Its value holds the other row's key, and is none of its changes.
      try b.commit("UPDATE book SET title = '1' || \(round) WHERE isbn = '11'")
      try b.commit("UPDATE book SET scans = scans + \(round) WHERE isbn = '1'")
    }
    try meet(a, b)
    let all = try await a.history()
    #expect(all.count == 9)
    var pages: [RowHistory] = []
    repeat {
      pages.append(
        try await a.replica.history(
          "book", key: ["1"], after: pages.last?.next, limit: limit))
    } while pages.last?.next != nil
    #expect(pages.flatMap(\.changes) == all)
    #expect(pages.dropLast().allSatisfy { $0.changes.count == limit })
    #expect(pages.count == (9 + limit - 1) / limit)
  }

  @Test func `what arrives between two pages is not lost`() async throws {
    let (a, b) = (try device(1), try device(2))
    try a.commit("INSERT INTO book (isbn) VALUES ('1')")
    try meet(a, b)
    try a.commit("UPDATE book SET title = 'a'")
    let first = try await a.replica.history("book", key: ["1"], limit: 1)
    try b.commit("UPDATE book SET title = 'b'")
    try meet(a, b)
    let second = try await a.replica.history("book", key: ["1"], after: first.next)
    #expect(first.changes.map(\.kind) == [.insert])
    #expect(second.changes.flatMap(\.columns).map(\.content) == [.value("a"), .value("b")])
  }

  @Test func `keys of several columns and types are found by their bytes`() async throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("t")])
    let a = try Device(schema, id: 1) {
      try $0.execute(
        sql: "CREATE TABLE t (a INTEGER NOT NULL, b BLOB NOT NULL, v, PRIMARY KEY (a, b))")
    }
    try a.commit("INSERT INTO t VALUES (1, x'00ff', 'v'), (-1, 'text', 'w')")
    for (key, value): ([SQLiteValue], SQLiteValue) in [
      ([1, .blob([0, 255])], "v"), ([1.0, .blob([0, 255])], "v"), ([-1, "text"], "w"),
    ] {
      let changes = try await a.replica.history("T", key: key).changes
      #expect(changes.map { $0.columns.map(\.content) } == [[.value(value)]])
      #expect(try await a.replica.explain("t", key: key).columns.map(\.value) == [value])
    }
    #expect(try await a.replica.history("t", key: [1, "text"]).changes.isEmpty)
  }

  @Test func `a write before a delete in one operation stands before it`() async throws {
    let a = try Device(
      SyncSchema(version: 1, tables: [SyncTable("book", deletes: .updateWins)]), id: 1
    ) { try $0.execute(sql: creation) }
    try a.commit("INSERT INTO book (isbn) VALUES ('1')")
    try a.commit("UPDATE book SET title = 'last'; DELETE FROM book")
    let page = try await a.replica.history("book", key: ["1"], limit: 2)
    #expect(page.changes.map(\.kind) == [.insert, .update, .delete])
    #expect(page.changes.map(\.sequence) == [1, 2, 2] && page.next == nil)
  }

  @Test func `columns have this schema's names, and those it does not know are deferred`()
    async throws
  {
    let (a, b) = (try device(1), try device(2))
    try a.commit("INSERT INTO book (isbn, title) VALUES ('1', 'Dune')")
    try meet(a, b)
    let newer = try b.upgraded(
      schema(2, renamed: ["name": "title"]), "ALTER TABLE book RENAME COLUMN title TO name",
      "ALTER TABLE book ADD COLUMN year")
    try newer.commit("UPDATE book SET year = 1965")
    #expect(try await newer.history().first?.columns.map(\.name) == ["name", "scans", "tags"])
    try a.pull(from: newer)
    let column = try #require(try await a.history().last?.columns.first)
    #expect(column.name == "year" && column.isDeferred && column.content == .value(1965))
    #expect(try await a.history().first?.columns.contains(where: \.isDeferred) == false)
    #expect(try await newer.history().last?.columns.first?.isDeferred == false)
  }

  @Test func `an operation that cannot be read is passed over, and one ahead is not merged`()
    async throws
  {
    let (a, b) = (try device(1), try device(2))
    try a.commit("INSERT INTO book (isbn) VALUES ('1')")
    try a.commit("UPDATE book SET title = 'unreadable'")
    try b.merge(try a.operationsWithBadEnd().all)
    #expect(try b.store.counts().pending[.unreadable] == 1)
    #expect(try await b.history().map(\.kind) == [.insert])
    let row = try await b.replica.explain("book", key: ["1"])
    #expect(row.pendingChanges == 0 && row.columns.first?.value == .null)
    try a.commit("UPDATE book SET title = 'ahead'")
    let last = try #require(
      try a.store.operations(lackedBy: b.store.versionVector(), maximumBytes: .max).last)
    let time = HybridTime(milliseconds: last.envelope.time.milliseconds + 86_400_000)
    try b.merge([last.restamped(time)])
    let changes = try await b.history()
    #expect(changes.map(\.isMerged) == [true, false])
    #expect(changes.last?.columns.first?.content == .value("ahead"))
    #expect(changes.last?.stamp.time == time)
  }

  @Test func `a row in a fragment of a large group is found`() async throws {
    let (a, b) = (try device(1), try device(2))
    let title = String(repeating: "x", count: 100_000)
    try a.execute(
      "INSERT INTO book (isbn, title) VALUES ('0', ?), ('1', ?), ('2', ?), ('3', 'last')",
      [title, title, title])
    #expect(try a.store.seal().count > 1)
    try b.pull(from: a)
    let last = try await b.history("3")
    #expect(last.count == 1 && last.first?.sequence == 2 && last.first?.isMerged == true)
    // Without its end a group is not merged.
    let c = try device(3)
    let operations = try a.store.operations(lackedBy: VersionVector(), maximumBytes: .max)
    try c.merge(Array(operations.dropLast()))
    #expect(try await c.history("0").map(\.isMerged) == [false])
    let row = try await c.replica.explain("book", key: ["0"])
    #expect(row.standing == .unknown && row.pendingChanges == 1)
  }
}
