import Foundation
import GRDB
import ReplicaStoreKit
import Tern
import TernTesting
import TestDevice
import Testing

private let v1 = SyncSchema(version: 1, tables: [SyncTable("book", merge: ["scans": .counter])])
private let creation = """
  CREATE TABLE book (
    isbn TEXT NOT NULL PRIMARY KEY, title TEXT, author TEXT, scans INTEGER NOT NULL DEFAULT 0)
  """
private let withYear = "ALTER TABLE book ADD COLUMN year INTEGER DEFAULT 1900"
private let withCopies = "ALTER TABLE book ADD COLUMN copies INTEGER NOT NULL DEFAULT 0"

private func pair() throws -> (Device, Device) {
  let a = try Device(DatabaseQueue(), v1, id: 1, migrator: .steps([creation]))
  let b = try Device(DatabaseQueue(), v1, id: 2, migrator: .steps([creation]))
  try a.execute("INSERT INTO book VALUES ('1', 'Dune', 'Herbert', 2), ('2', 'Emma', 'Austen', 0)")
  try meet(a, b)
  return (a, b)
}

@Suite("Replica: the app's migrations")
struct GuestMigrationTests {
  @Test func `a table rebuild keeps the rows, the state and the capture`() throws {
    var (a, b) = try pair()
    try a.execute("UPDATE book SET title = 'noted before' WHERE isbn = '1'")
    a = try a.upgraded(
      v1, creation,
      """
      CREATE TABLE new_book (
        scans INTEGER NOT NULL DEFAULT 0, author TEXT, title TEXT, isbn TEXT NOT NULL PRIMARY KEY);
      INSERT INTO new_book SELECT scans, author, title, isbn FROM book;
      DROP TABLE book;
      ALTER TABLE new_book RENAME TO book;
      """)
    #expect(try a.store.counts().operations == 2)
    try b.execute("UPDATE book SET author = 'B', scans = scans + 1 WHERE isbn = '1'")
    try a.execute("UPDATE book SET scans = scans + 5 WHERE isbn = '1'")
    try meet(a, b)
    try meet(a, b)
    let select = "SELECT title || author || scans FROM book WHERE isbn = '1'"
    #expect(try a.column(select) == ["noted beforeB8"])
    #expect(try b.column(select) == ["noted beforeB8"])
    #expect(try a.store.canonicalState() == b.store.canonicalState())
  }

  @Test func `notes outlive a rebuild that the app does by itself, in another order of columns`()
    throws
  {
    var (a, b) = try pair()
    try a.execute("UPDATE book SET title = 'A' WHERE isbn = '1'")
    try a.database.write { db in
      try db.execute(
        sql: """
          CREATE TABLE new_book (
            author TEXT, scans INTEGER NOT NULL DEFAULT 0, extra, title TEXT,
            isbn TEXT NOT NULL PRIMARY KEY);
          INSERT INTO new_book SELECT author, scans, NULL, title, isbn FROM book;
          DROP TABLE book;
          ALTER TABLE new_book RENAME TO book;
          """)
    }
    try b.execute("UPDATE book SET author = 'B' WHERE isbn = '1'")
    a = try Device(a.database, v1, id: 99)
    try meet(a, b)
    #expect(try a.column("SELECT title || author FROM book WHERE isbn = '1'") == ["AB"])
    #expect(try b.column("SELECT title || author FROM book WHERE isbn = '1'") == ["AB"])
  }

  @Test func `an added column stands at its default until it is written, and then travels`() throws
  {
    var (a, b) = try pair()
    let v2 = SyncSchema(version: 2, tables: v1.tables)
    a = try a.upgraded(v2, creation, withYear)
    b = try b.upgraded(v2, creation, withYear)
    #expect(try a.store.counts().operations == 1)
    let state = try a.store.canonicalState()
    #expect(state.count == 2 && state.allSatisfy { $0.cells["year"] == nil })
    try b.execute("UPDATE book SET year = 1965 WHERE isbn = '1'")
    try a.execute("INSERT INTO book VALUES ('3', 'Ulysses', 'Joyce', 0, 1922)")
    try meet(a, b)
    #expect(try a.column("SELECT year FROM book ORDER BY isbn") == ["1965", "1900", "1922"])
    try expectEqual(a, b, "book")
  }

  @Test func `a dropped column is forgotten here and goes on at peers that have it`() throws {
    var (a, b) = try pair()
    a = try a.upgraded(
      SyncSchema(version: 2, tables: v1.tables), creation, "ALTER TABLE book DROP COLUMN author")
    try b.execute("UPDATE book SET author = 'B', title = 'T' WHERE isbn = '1'")
    try a.execute("UPDATE book SET title = 'U' WHERE isbn = '2'")
    try meet(a, b)
    #expect(try a.column("SELECT title FROM book ORDER BY isbn") == ["T", "U"])
    #expect(try b.column("SELECT title || author FROM book ORDER BY isbn") == ["TB", "UAusten"])
    #expect(try a.store.counts().pending[.schema] == 1)
    a = try Device(a.database, SyncSchema(version: 2, tables: v1.tables), id: 99)
    try meet(a, b)
    #expect(try a.store.counts().pending[.schema] == 1)
  }

  @Test func `a renamed column keeps its stamps and takes edits under either name`() throws {
    var (a, b) = try pair()
    let rename = "ALTER TABLE book RENAME COLUMN title TO name"
    let count = "ALTER TABLE book RENAME COLUMN scans TO seen"
    let v2 = SyncSchema(
      version: 2,
      tables: [
        SyncTable(
          "book", merge: ["seen": .counter], formerColumnNames: ["name": "title", "seen": "scans"])
      ])
    let before = try a.store.canonicalState().map { $0.cells["title"]?.time }
    a = try a.upgraded(v2, creation, rename, count)
    #expect(try a.store.canonicalState().map { $0.cells["name"]?.time } == before)
    try b.execute("UPDATE book SET title = 'old name', scans = scans + 1 WHERE isbn = '1'")
    try a.pull(from: b)
    #expect(try a.column("SELECT name || seen FROM book WHERE isbn = '1'") == ["old name3"])
    #expect(try a.store.counts().pending[.schema] == 0)

    try a.execute("UPDATE book SET name = 'new name', seen = seen + 4 WHERE isbn = '1'")
    try b.pull(from: a)
    #expect(try b.column("SELECT title || scans FROM book WHERE isbn = '1'") == ["old name3"])
    #expect(try b.store.counts().pending[.schema] == 1)
    for _ in 1...2 {
      b = try b.upgraded(v2, creation, rename, count)
      #expect(try b.column("SELECT name || seen FROM book WHERE isbn = '1'") == ["new name7"])
      #expect(try b.store.counts().pending[.schema] == 0)
    }
    try expectEqual(a, b, "book")
  }

  @Test func `a column that was renamed twice takes edits under its first name`() throws {
    var (a, b) = try pair()
    let schema = SyncSchema(
      version: 3,
      tables: [
        SyncTable(
          "book", merge: ["scans": .counter],
          formerColumnNames: ["heading": "name", "name": "title"])
      ])
    a = try a.upgraded(schema, creation, "ALTER TABLE book RENAME COLUMN title TO heading")
    try b.execute("UPDATE book SET title = 'first' WHERE isbn = '1'")
    try a.pull(from: b)
    #expect(try a.column("SELECT heading FROM book") == ["first", "Emma"])
  }

  @Test func `what a migration writes makes no operation`() throws {
    var (a, b) = try pair()
    a = try a.upgraded(
      v1, creation, "UPDATE book SET title = upper(title)",
      "INSERT INTO book VALUES ('9', 'seed', '', 0)", "DELETE FROM book WHERE isbn = '2'")
    #expect(try a.store.seal().isEmpty)
    #expect(try a.store.counts().operations == 1)
    #expect(try a.column("SELECT title FROM book") == ["DUNE", "seed"])
    // A write to a row that a migration brought makes it travel whole.
    try a.execute("UPDATE book SET author = 'A' WHERE isbn = '9'")
    try meet(a, b)
    #expect(try b.column("SELECT title || author FROM book WHERE isbn = '9'") == ["seedA"])
    // A row that a migration removed comes back when a peer writes it whole, not by an edit.
    try b.execute("UPDATE book SET title = 'edit' WHERE isbn = '2'")
    try meet(a, b)
    #expect(try a.column("SELECT title FROM book WHERE isbn = '2'") == [])
    try b.execute("REPLACE INTO book VALUES ('2', 'whole', 'W', 7)")
    try meet(a, b)
    #expect(try a.column("SELECT title || author FROM book WHERE isbn = '2'") == ["wholeW"])
  }

  @Test func `the delete of a row that migrations brought to both travels`() throws {
    var (a, b) = try pair()
    let seed = "INSERT INTO book VALUES ('9', 'seed', '', 0)"
    a = try a.upgraded(v1, creation, seed)
    b = try b.upgraded(v1, creation, seed)
    try a.execute("DELETE FROM book WHERE isbn = '9'")
    try a.execute("INSERT INTO book (isbn) VALUES ('8')")
    try a.execute("DELETE FROM book WHERE isbn = '8'")
    try meet(a, b)
    #expect(try b.column("SELECT isbn FROM book") == ["1", "2"])
    #expect(try b.store.canonicalState().map(\.key) == [["1"], ["2"], ["9"]])
    try expectEqual(a, b, "book")
    try b.execute(seed)
    try meet(a, b)
    #expect(try a.column("SELECT isbn FROM book") == ["1", "2", "9"])
    try expectEqual(a, b, "book")
  }

  @Test func `operations with columns of a newer schema wait, and count once`() throws {
    var (a, b) = try pair()
    let v2 = SyncSchema(
      version: 2, tables: [SyncTable("book", merge: ["scans": .counter, "copies": .counter])])
    a = try a.upgraded(v2, creation, withYear, withCopies)
    try a.execute("UPDATE book SET scans = scans + 1, copies = copies + 3, year = 1965")
    try a.execute("INSERT INTO book VALUES ('3', 'Ulysses', 'Joyce', 1, 1922, 5)")
    try meet(a, b)
    #expect(try b.column("SELECT scans FROM book ORDER BY isbn") == ["3", "1", "1"])
    #expect(try b.store.counts().pending[.schema] == 1)
    // One of the two columns becomes known first.
    b = try b.upgraded(v1, creation, withYear)
    #expect(try b.column("SELECT year FROM book ORDER BY isbn") == ["1965", "1965", "1922"])
    #expect(try b.store.counts().pending[.schema] == 1)
    for _ in 1...3 {
      b = try b.upgraded(v2, creation, withYear, withCopies)
      #expect(try b.column("SELECT copies FROM book ORDER BY isbn") == ["3", "3", "5"])
      #expect(try b.column("SELECT scans FROM book ORDER BY isbn") == ["3", "1", "1"])
      #expect(try b.store.counts().pending[.schema] == 0)
    }
    try expectEqual(a, b, "book")
  }

  @Test func `an operation waits for a newer schema only where it wrote what that brings`() throws {
    var (a, b) = try pair()
    let memory = try MemoryReplicaStore(
      id: ReplicaID(high: 0, low: 3), schema: v1,
      tables: [MemoryTable("book", key: ["isbn"], columns: ["title", "author", "scans"])],
      wallMilliseconds: { Int64(Date().timeIntervalSince1970 * 1000) })
    a = try a.upgraded(v1, creation, withYear)
    try a.commit("INSERT INTO book VALUES ('3', 'Ulysses', 'Joyce', 1, 1922)")
    try a.commit("UPDATE book SET scans = scans + 1")
    try a.commit(
      "UPDATE book SET title = 'Emma!' WHERE isbn = '2'; DELETE FROM book WHERE isbn = '1'")
    try a.commit("UPDATE book SET year = 1816, scans = 5 WHERE isbn = '2'")
    try b.pull(from: a)
    #expect(try b.store.counts().pending[.schema] == 2)
    _ = try memory.merge(
      PulledPage(
        operations: try a.store.operations(lackedBy: VersionVector(), maximumBytes: .max),
        cursor: RemoteCursor(rawValue: "1"), hasMore: false, now: nil),
      from: RemotePlace(remoteID: "peer", epoch: "e", cursor: nil))
    #expect(try memory.counts().pending[.schema] == 2)
    b = try b.upgraded(v1, creation, withYear)
    #expect(try b.store.counts().pending[.schema] == 0)
    #expect(
      try b.column("SELECT title || year || scans FROM book") == ["Emma!18165", "Ulysses19222"])
    try expectEqual(a, b, "book")
  }

  @Test func `of a table that becomes known, what wrote columns that do not come waits on`() throws
  {
    let shelf = "CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY, name"
    let v2 = SyncSchema(version: 2, tables: v1.tables + [SyncTable("shelf")])
    var (a, b) = try pair()
    a = try a.upgraded(v2, creation, shelf + ", room)")
    try a.commit("INSERT INTO shelf VALUES ('1', 'hall', 'H')")
    try a.commit("UPDATE shelf SET name = 'attic'")
    try b.pull(from: a)
    #expect(try b.store.counts().pending[.schema] == 2)
    b = try b.upgraded(v2, creation, shelf + ")")
    #expect(try b.column("SELECT name FROM shelf") == ["attic"])
    #expect(try b.store.counts().pending[.schema] == 1)
    b = try b.upgraded(v2, creation, shelf + ")", "ALTER TABLE shelf ADD COLUMN room")
    #expect(try b.column("SELECT room FROM shelf") == ["H"])
    #expect(try b.store.counts().pending[.schema] == 0)
  }

  @Test func `a column that is renamed before opening keeps what was not sealed yet`() throws {
    var (a, b) = try pair()
    try a.execute("UPDATE book SET title = 'edited', scans = scans + 3 WHERE isbn = '1'")
    try a.execute("ALTER TABLE book RENAME COLUMN title TO name")
    try a.execute("UPDATE book SET author = 'A' WHERE isbn = '2'")
    let v2 = SyncSchema(
      version: 2,
      tables: [SyncTable("book", merge: ["scans": .counter], formerColumnNames: ["name": "title"])])
    a = try Device(a.database, v2, id: 99)
    try meet(a, b)
    b = try b.upgraded(v2, creation, "ALTER TABLE book RENAME COLUMN title TO name")
    #expect(try b.column("SELECT name || scans FROM book ORDER BY isbn") == ["edited5", "Emma0"])
    #expect(try b.column("SELECT author FROM book ORDER BY isbn") == ["Herbert", "A"])
    try expectEqual(a, b, "book")
  }

  @Test func `a counter that a migration rewrites is counted by each device that writes it again`()
    throws
  {
    var (a, b) = try pair()
    let v2 = SyncSchema(version: 2, tables: v1.tables)
    let reset = "UPDATE book SET scans = 0"
    (a, b) = (try a.upgraded(v2, creation, reset), try b.upgraded(v2, creation, reset))
    for device in [a, b] {
      try device.execute("UPDATE book SET scans = scans + 1 WHERE isbn = '1'")
    }
    try meet(a, b)
    // It was 2, and each device made 1 of that.
    #expect(try a.column("SELECT scans FROM book WHERE isbn = '1'") == ["0"])
    // Through the replica it is one difference, for all.
    try a.commit("UPDATE book SET scans = 10")
    try meet(a, b)
    try a.commit("UPDATE book SET scans = 0")
    for device in [a, b] { try device.execute("UPDATE book SET scans = scans + 1") }
    try meet(a, b)
    try meet(a, b)
    for device in [a, b] { #expect(try device.column("SELECT scans FROM book") == ["2", "2"]) }
    try expectEqual(a, b, "book")
  }
}
