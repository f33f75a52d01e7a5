import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE book (
    isbn TEXT NOT NULL PRIMARY KEY, title TEXT, shelf TEXT, scans INTEGER NOT NULL DEFAULT 0,
    best INTEGER, seen TEXT DEFAULT 'never')
  """

private func schema(_ deletes: DeleteRule = .deleteWins) -> SyncSchema {
  SyncSchema(
    version: 1,
    tables: [
      SyncTable(
        "book", merge: ["scans": .counter, "best": .max], deletes: deletes, local: ["seen"])
    ])
}

private func device(
  _ id: UInt64, _ deletes: DeleteRule = .deleteWins, limits: InboxLimits = InboxLimits()
) throws -> Device {
  let database = try DatabaseQueue()
  try database.write { try $0.execute(sql: creation) }
  return try Device(database, schema(deletes), id: id, inbox: limits)
}

private func pair(_ deletes: DeleteRule = .deleteWins) throws -> (Device, Device) {
  let (a, b) = (try device(1, deletes), try device(2, deletes))
  try a.execute("INSERT INTO book (isbn, title, shelf) VALUES ('1', 'Dune', 'A')")
  try meet(a, b)
  return (a, b)
}

extension Device {
  fileprivate var entries: [InboxEntry] {
    get throws { try database.read { try replica.inbox(in: $0) } }
  }
}

@Suite("Inbox: writes that lost")
struct InboxTests {
  /// Simulation, seed 659: the first start of a new release kept more than it was allowed.
  @Test func `INV-10: what an upgrade replays keeps the inbox's limit`() throws {
    let note = "CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, text TEXT)"
    let wide = SyncSchema(version: 2, tables: schema().tables + [SyncTable("note")])
    let (b, c) = (try device(2), try device(3))
    for newer in [b, c] { try newer.database.write { try $0.execute(sql: note) } }
    let (newB, newC) = (
      try Device(b.database, wide, id: 2, inbox: InboxLimits()),
      try Device(c.database, wide, id: 3, inbox: InboxLimits())
    )
    try newB.commit("INSERT INTO note VALUES ('1', '-'), ('2', '-'), ('3', '-')")
    try meet(newB, newC)
    try newB.commit("UPDATE note SET text = 'b'")
    try newC.commit("UPDATE note SET text = 'c'")
    let a = try device(1, limits: InboxLimits(entries: 1))
    try meet(a, newB)
    try meet(a, newC)
    #expect(try a.entries.isEmpty)
    try a.database.write { try $0.execute(sql: note) }
    let upgraded = try Device(a.database, wide, id: 1, inbox: InboxLimits(entries: 1))
    #expect(try upgraded.entries.count == 1)
  }

  @Test func `of two writes at once the loser is kept where the two met, with who wrote both`()
    async throws
  {
    let (a, b) = try pair()
    try a.commit("UPDATE book SET title = 'Dune I', shelf = 'B' WHERE isbn = '1'")
    try b.commit("UPDATE book SET title = 'Dune II' WHERE isbn = '1'")
    try meet(a, b)
    let standing = try #require(try a.column("SELECT title FROM book")[0])
    let lost = standing == "Dune I" ? "Dune II" : "Dune I"
    for device in [a, b] {
      let entry = try #require(try device.entries.first)
      #expect(try device.entries.count == 1)
      #expect(entry.table == "book" && entry.key == ["1"] && entry.kind == .lastWriter)
      #expect(entry.values == ["title": .string(lost)])
      let (loser, winner) = (try #require(entry.loser), try #require(entry.winner))
      #expect(loser.author != winner.author)
      #expect(loser.time < winner.time || loser.author < winner.author)
    }
    let entry = try a.entries[0]
    try await a.replica.restore(entry)
    #expect(try a.entries.isEmpty)
    #expect(try a.column("SELECT title FROM book") == [lost])
    try meet(a, b)
    try expectEqual(a, b, "book")
    #expect(try b.column("SELECT title FROM book") == [lost])
    // What had seen the other is no conflict.
    #expect(try b.entries.count == 1)
  }

  @Test func `writes that knew of each other, equal ones, and sums and extremes lose nothing`()
    throws
  {
    let (a, b) = try pair()
    try a.commit("UPDATE book SET title = 'x'")
    try meet(a, b)
    try b.commit("UPDATE book SET title = 'y'")
    try meet(a, b)
    try a.commit("UPDATE book SET title = 'z', scans = scans + 1, best = 3")
    try b.commit("UPDATE book SET title = 'z', scans = scans + 2, best = 4")
    try meet(a, b)
    #expect(try a.entries.isEmpty && b.entries.isEmpty)
    try expectEqual(a, b, "book")
  }

  @Test func `a row that a delete removed is restored whole`() async throws {
    let (a, b) = try pair()
    try b.commit("UPDATE book SET title = 'Dune II', scans = 3, seen = 'today'")
    try a.commit("DELETE FROM book")
    try meet(a, b)
    #expect(try b.column("SELECT isbn FROM book").isEmpty)
    let entry = try #require(try b.entries.first)
    #expect(entry.kind == .deleteWins)
    #expect(entry.loser?.isOwn == true && entry.winner?.isOwn == false)
    try await b.replica.restore(entry)
    try meet(a, b)
    try expectEqual(a, b)
    #expect(
      try a.rows("SELECT isbn, title, shelf, scans FROM book").map { $0.map(\.description) }
        == [["\"1\"", "\"Dune II\"", "\"A\"", "3"]])
    #expect(try b.column("SELECT seen FROM book") == ["today"])
  }

  @Test func `a change that comes to a deleted row is kept with what travelled of it`() async throws
  {
    let (a, b) = try pair()
    try b.commit("UPDATE book SET title = 'Dune II', scans = 3")
    try a.commit("DELETE FROM book")
    try meet(a, b)
    let entry = try #require(try a.entries.first)
    #expect(entry.kind == .deleteWins && entry.winner?.isOwn == true)
    #expect(entry.values == ["title": "Dune II"])
    try await a.replica.restore(entry)
    #expect(try a.column("SELECT title FROM book") == ["Dune II"])
  }

  @Test func `a key that changed keeps the edits to the old one`() throws {
    let (a, b) = try pair()
    try a.commit("UPDATE book SET isbn = '2'")
    try b.commit("UPDATE book SET title = 'Dune II'")
    try meet(a, b)
    try expectEqual(a, b, "book")
    #expect(try a.column("SELECT isbn FROM book") == ["2"])
    #expect(try a.entries.map(\.key) == [["1"]])
    #expect(try a.entries[0].values == ["title": "Dune II"])
  }

  @Test func `two inserts of one key keep the columns of the earlier`() throws {
    let (a, b) = (try device(1), try device(2))
    try a.commit("INSERT INTO book (isbn, title, shelf) VALUES ('1', 'Emma', 'A')")
    try b.commit("INSERT INTO book (isbn, title) VALUES ('1', 'Persuasion')")
    try meet(a, b)
    for device in [a, b] {
      let entry = try #require(try device.entries.first)
      #expect(entry.kind == .sameKey)
      let standing = try #require(try device.column("SELECT title FROM book")[0])
      #expect(entry.values["title"] == (standing == "Emma" ? "Persuasion" : "Emma"))
    }
  }

  @Test func `under .lastWriter a delete that is later than a change keeps the row`() async throws {
    let (a, b) = try pair(.lastWriter)
    try a.commit("UPDATE book SET title = 'Dune II'")
    // Of two writes in one millisecond b's is the later, by its id.
    try b.commit("UPDATE book SET shelf = 'C'; DELETE FROM book")
    try meet(a, b)
    try expectEqual(a, b, "book")
    try #require(try a.column("SELECT isbn FROM book").isEmpty)
    let entry = try #require(try a.entries.first { $0.kind == .deleteWins })
    #expect(entry.values["title"] == "Dune II")
    try await a.replica.restore(entry)
    try meet(a, b)
    try expectEqual(a, b, "book")
    #expect(try b.column("SELECT title FROM book") == ["Dune II"])
  }

  @Test func `the newest entries stay within the limits`() throws {
    let (a, b) = (try device(1, limits: InboxLimits(entries: 3)), try device(2))
    try a.execute("INSERT INTO book (isbn, title) SELECT value, 'x' FROM json_each('[1,2,3,4,5]')")
    try meet(a, b)
    try a.commit("UPDATE book SET title = 'a'")
    try b.commit("UPDATE book SET title = 'b'")
    try meet(a, b)
    #expect(try a.entries.map(\.key) == [["5"], ["4"], ["3"]])
    #expect(try b.entries.count == 5)
    try a.execute("UPDATE grdb_tern_main_inbox SET found_ms = found_ms - 91 * 86400000")
    try a.commit("UPDATE book SET title = 'c' WHERE isbn = '1'")
    try b.commit("UPDATE book SET title = 'd' WHERE isbn = '1'")
    try meet(a, b)
    #expect(try a.entries.map(\.key) == [["1"]])
  }

  @Test func `nothing is kept where the limit says so`() throws {
    let (a, b) = (try device(1, limits: InboxLimits(entries: 0)), try device(2))
    try a.execute("INSERT INTO book (isbn, title) VALUES ('1', 'x')")
    try meet(a, b)
    try a.commit("UPDATE book SET title = 'a'")
    try b.commit("UPDATE book SET title = 'b'")
    try meet(a, b)
    #expect(try a.entries.isEmpty)
    #expect(try a.store.counts().conflicts == [.lastWriter: 1])
  }

  @Test func `a dismissed entry is gone, and neither restored nor dismissed again`() async throws {
    let (a, b) = try pair()
    try a.commit("UPDATE book SET title = 'a'")
    try b.commit("UPDATE book SET title = 'b'")
    try meet(a, b)
    let entry = try #require(try await a.replica.inbox().first)
    try await a.replica.dismiss(entry)
    #expect(try a.entries.isEmpty)
    let before = try a.column("SELECT title FROM book")
    for call in [{ try await a.replica.dismiss($0) }, { try await a.replica.restore($0) }]
      as [(InboxEntry) async throws -> Void]
    {
      let error = await #expect(throws: InboxError.self) { try await call(entry) }
      #expect(error?.code == .missingEntry)
    }
    #expect(try a.column("SELECT title FROM book") == before)
  }

  @Test func `what the table refuses is not restored, and stays in the inbox`() async throws {
    let (a, b) = try pair()
    try b.commit("UPDATE book SET title = 'Dune II'")
    try a.commit("DELETE FROM book")
    try meet(a, b)
    try b.execute(
      """
      CREATE TRIGGER app BEFORE INSERT ON book BEGIN SELECT RAISE(ABORT, 'not now'); END
      """)
    let entry = try #require(try b.entries.first)
    await #expect(throws: DatabaseError.self) { try await b.replica.restore(entry) }
    #expect(try b.entries == [entry])
    #expect(try b.store.seal().isEmpty)
  }

  @Test func `an observation is told of what comes and goes`() async throws {
    let (a, b) = try pair()
    let observation = ValueObservation.tracking { db in try a.replica.inbox(in: db).count }
    var counts = observation.values(in: a.database).makeAsyncIterator()
    #expect(try await counts.next() == 0)
    try a.commit("UPDATE book SET title = 'a'")
    try b.commit("UPDATE book SET title = 'b'")
    try meet(a, b)
    try await expectNext(1, &counts)
    try await a.replica.dismiss(try a.entries[0])
    try await expectNext(0, &counts)
  }
}
