import GRDB
@_spi(Rehearsal) import TernCore
import TestDevice
import TestProcesses
import Testing

@testable import Tern

private let pin = "CREATE TABLE pin (list TEXT REFERENCES list ON DELETE CASCADE);"

/// When local rows go: at a pull's end alone, and only with a parent that is deleted then.
@Suite("Merge: local rows until a pull's end")
struct LocalChildPullTests {
  private func pins(_ device: Device) throws -> [String?] {
    try device.column("SELECT list FROM pin ORDER BY list")
  }

  @Test func `INV-15: stay until the last page`() throws {
    let (a, b) = try LocalChild.pair(pin, "INSERT INTO pin VALUES ('a'), ('b')")
    try b.commit("DELETE FROM list WHERE id = 'a'")
    try LocalChild.pullByOne(a, from: b, endsPull: false)
    #expect(try a.column("SELECT id FROM list") == ["b"])
    #expect(try pins(a) == ["a", "b"])
    try LocalChild.mergePage(
      a, [], hasMore: false, withheld: RemoteError(.unavailable, "a file is missing"))
    #expect(try pins(a) == ["a", "b"])
    try LocalChild.mergePage(a, [], hasMore: false)
    #expect(try pins(a) == ["b"])
  }

  @Test func `INV-15: stay with a parent that comes back on a later page`() throws {
    let (a, b) = try LocalChild.pair(pin, "INSERT INTO pin VALUES ('a'), ('b')")
    try b.commit("DELETE FROM list WHERE id = 'a'")
    try b.commit("INSERT INTO list VALUES ('a', 'again')")
    try LocalChild.pullByOne(a, from: b)
    #expect(try pins(a) == ["a", "b"])
    #expect(try LocalChild.notedParents(of: a) == 0)
    try a.pull(from: b)
    #expect(try pins(a) == ["a", "b"])
  }

  @Test(arguments: [DeleteRule.updateWins, .lastWriter])
  func `INV-15: stay with a parent that a later page's change brings back`(_ rule: DeleteRule)
    throws
  {
    let schema = SyncSchema(version: 1, tables: [SyncTable("list", deletes: rule)])
    let (a, b) = try LocalChild.pair(pin, "INSERT INTO pin VALUES ('a'), ('b')", schema)
    let c = try Device(schema, id: 3) { try $0.execute(sql: LocalChild.list + pin) }
    try c.pull(from: b)
    try b.commit("DELETE FROM list WHERE id = 'a'")
    try delay(c, after: b)
    try c.commit("UPDATE list SET name = 'changed' WHERE id = 'a'")
    try LocalChild.pullByOne(a, from: b, endsPull: false)
    #expect(try a.column("SELECT id FROM list") == ["b"])
    try LocalChild.pullByOne(a, from: c)
    #expect(try a.column("SELECT id FROM list ORDER BY id") == ["a", "b"])
    #expect(try pins(a) == ["a", "b"])
    // And go where it stays deleted.
    try c.pull(from: b)
    try c.commit("DELETE FROM list WHERE id = 'a'")
    try a.pull(from: c)
    #expect(try pins(a) == ["b"])
  }

  @Test func `INV-15: stay with a parent that is quarantined, and go with its delete`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("folder"), SyncTable("list")])
    let creation = """
      CREATE TABLE folder (id TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE list (
        id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE,
        folder TEXT REFERENCES folder ON DELETE CASCADE);
      """
    let (a, b) = try Device.pair(schema, creation + pin)
    try b.commit("INSERT INTO folder VALUES ('f'); INSERT INTO list VALUES ('a', 'A', NULL)")
    try a.pull(from: b)
    // The folder goes on one device, and the other puts the list into it: nobody deleted the list.
    try a.commit("UPDATE list SET folder = 'f'; INSERT INTO pin VALUES ('a')")
    try b.commit("DELETE FROM folder")
    try meetTwice(a, b)
    #expect(try a.column("SELECT id FROM list") == [])
    #expect(try pins(a) == ["a"])
    #expect(try LocalChild.notedParents(of: a) == 1)
    try b.commit("INSERT INTO folder VALUES ('f')")
    try a.pull(from: b)
    #expect(try a.column("SELECT id FROM list") == ["a"])
    #expect(try pins(a) == ["a"])
    #expect(try LocalChild.notedParents(of: a) == 0)
    // A list that was created earlier takes its place.
    let c = try Device(schema, id: 3) { try $0.execute(sql: creation + pin) }
    try c.commit("INSERT INTO list VALUES ('0', 'A', NULL)")
    try b.commit("UPDATE list SET name = 'B' WHERE id = 'a'")
    try a.pull(from: b)
    try c.commit("UPDATE list SET name = 'B' WHERE id = '0'")
    try meetTwice(b, c)
    try a.pull(from: b)
    #expect(try pins(a) == ["a"])
    for device in [b, c] { try device.commit("DELETE FROM list WHERE id = 'a'") }
    try meetTwice(b, c)
    // What it does not show, the inbox discards.
    for entry in try b.inbox { try b.discard(entry) }
    try a.pull(from: b)
    #expect(try a.column("SELECT id FROM list") == (try b.column("SELECT id FROM list")))
    let isDeleted = try a.store.canonicalState().contains {
      $0.table == "list" && $0.key == ["a"] && $0.life.isMultiple(of: 2)
    }
    #expect(isDeleted)
    #expect(try pins(a) == [])
    #expect(try LocalChild.notedParents(of: a) == 0)
  }

  @Test func `INV-15: hold aside rows that sync and are behind them`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("list"), SyncTable("item")])
    let tables = """
      CREATE TABLE folder (id TEXT PRIMARY KEY, list TEXT REFERENCES list ON DELETE CASCADE);
      CREATE TABLE shelf (id TEXT PRIMARY KEY, folder TEXT REFERENCES folder ON DELETE CASCADE);
      CREATE TABLE item (
        id TEXT NOT NULL PRIMARY KEY, shelf INTEGER REFERENCES shelf ON DELETE CASCADE,
        above TEXT REFERENCES item ON DELETE CASCADE)
      """.replacing("shelf (id TEXT", with: "shelf (id")
    let (a, b) = try LocalChild.pair(
      tables,
      """
      INSERT INTO folder VALUES ('f', 'a'), ('g', 'b'); INSERT INTO shelf VALUES (1, 'f'), (2, 'g');
      INSERT INTO item VALUES ('i', 1, NULL), ('j', 2, NULL), ('k', NULL, 'i')
      """, schema)
    try a.store.seal()
    let operations = try a.store.counts().operations
    try b.commit("DELETE FROM list WHERE id = 'a'")
    try a.pull(from: b)
    #expect(try a.column("SELECT id FROM shelf") == ["2"])
    #expect(try a.column("SELECT id FROM item") == ["j"])
    try a.store.seal()
    #expect(try a.store.counts().operations == operations + 1)
    let state = try a.store.canonicalState().filter { $0.table == "item" }
    #expect(state.map(\.life) == [1, 1, 1])
    #expect(try a.store.counts().quarantined == 2)
    // They are shown again with what they refer to.
    try a.execute("INSERT INTO folder VALUES ('f', 'b'); INSERT INTO shelf VALUES (1, 'f')")
    try a.commit("INSERT INTO item VALUES ('l', NULL, NULL)")
    #expect(try a.column("SELECT id FROM item ORDER BY id") == ["i", "j", "k", "l"])
  }

  @Test func `INV-15: stay where rows of another replica are behind them`() throws {
    let creation =
      LocalChild.list + """
        CREATE TABLE folder (id TEXT PRIMARY KEY, list TEXT REFERENCES list ON DELETE CASCADE);
        CREATE TABLE item (
          id TEXT NOT NULL PRIMARY KEY, folder TEXT REFERENCES folder ON DELETE CASCADE)
        """
    let (a, b) = try Device.pair(LocalChild.schema, creation)
    let other = try Device(
      a.database, SyncSchema(version: 1, tables: [SyncTable("item")]), id: 9, name: "other")
    try LocalChild.fill(
      a, b, "INSERT INTO folder VALUES ('f', 'a'), ('g', 'a'); INSERT INTO item VALUES ('i', 'f')")
    try other.store.seal()
    let operations = try other.store.counts().operations
    try b.commit("DELETE FROM list WHERE id = 'a'")
    try a.pull(from: b)
    #expect(try a.column("SELECT id FROM folder") == ["f"])
    #expect(try a.column("SELECT id FROM item") == ["i"])
    try other.store.seal()
    #expect(try other.store.counts().operations == operations)
  }

  @Test func `go with a snapshot's delete, at the end of the pull behind it`() throws {
    let (a, b) = try LocalChild.pair(pin, "INSERT INTO pin VALUES ('a'), ('b')")
    try b.commit("DELETE FROM list WHERE id = 'a'")
    try a.load(Parts(of: b))
    #expect(try a.column("SELECT id FROM list") == ["b"])
    #expect(try pins(a) == ["a", "b"])
    try LocalChild.mergePage(a, [], hasMore: false)
    #expect(try pins(a) == ["b"])
  }

  @Test func `go in several transactions where there are many`() throws {
    let (a, b) = try LocalChild.pair(pin, "INSERT INTO pin VALUES ('a'), ('b')")
    let many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250) "
    try b.commit("\(many) INSERT INTO list SELECT 'l' || i, 'L' FROM n")
    try a.pull(from: b)
    try a.execute("INSERT INTO pin SELECT id FROM list")
    try b.commit("DELETE FROM list WHERE id <> 'b'")
    try a.pull(from: b)
    #expect(try pins(a) == ["b", "b"])
    #expect(try LocalChild.notedParents(of: a) == 0)
  }

  #if Rehearsal
  private struct Death: Error {}

  @Test(arguments: [true, false])
  func `a process that dies before a pull's end leaves them to the next, or to another process`(
    _ isPool: Bool
  ) throws {
    try withTemporaryFolder { folder in
      let path = "\(folder)/app.sqlite"
      func open() throws -> Device {
        let database: any DatabaseWriter =
          try isPool ? DatabasePool(path: path) : DatabaseQueue(path: path)
        return try Device(
          database, LocalChild.schema, id: 1, migrator: .steps([LocalChild.list + pin]))
      }
      let a = try open()
      let b = try Device(LocalChild.schema, id: 2) {
        try $0.execute(sql: LocalChild.list + pin)
      }
      try LocalChild.fill(a, b, "INSERT INTO pin VALUES ('a'), ('b')")
      try b.commit("DELETE FROM list WHERE id = 'a'")
      let dies: CrashPoint.Handler = { if $0 == .mergeAfterCommit { throw Death() } }
      #expect(throws: Death.self) {
        try CrashPoint.with(dies) { try LocalChild.pullByOne(a, from: b) }
      }
      #expect(try pins(a) == ["a", "b"])
      #expect(try LocalChild.notedParents(of: a) == 1)
      let again = try open()
      #expect(try pins(again) == ["a", "b"])
      try LocalChild.mergePage(again, [], hasMore: false)
      #expect(try pins(again) == ["b"])
      #expect(try pins(a) == ["b"])
    }
  }
  #endif
}
