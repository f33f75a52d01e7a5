import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE t (
    id TEXT NOT NULL PRIMARY KEY, body, title TEXT, n INTEGER NOT NULL DEFAULT 0,
    tags TEXT NOT NULL DEFAULT '[]', prose TEXT NOT NULL DEFAULT '')
  """

private func schema(_ deletes: DeleteRule) -> SyncSchema {
  SyncSchema(
    version: 1,
    tables: [
      SyncTable("t", merge: ["n": .counter, "tags": .set, "prose": .text], deletes: deletes)
    ])
}

private let plain = SyncSchema(version: 1, tables: [SyncTable("t")])
private let large = "hex(zeroblob(8 << 20))"

extension Device {
  /// What the row shows, with the length of its body.
  fileprivate var shown: [String?] {
    get throws {
      try column(
        """
        SELECT id || ' ' || ifnull(CASE WHEN length(body) > 100 THEN 'large' ELSE body END, '')
        || ' ' || ifnull(title, '') || ' ' || n || ' ' || tags || ' ' || prose FROM t ORDER BY id
        """)
    }
  }
}

/// What is written here and cannot travel stands, whatever comes from others (INV-02).
@Suite("Merge: rows that are too large to travel")
struct LargeRowTests {
  private func pair(_ schema: SyncSchema) throws -> (Device, Device) {
    let (a, b) = try Device.pair(schema, creation)
    try a.execute("INSERT INTO t (id, body, title) VALUES ('1', 'first', 'T')")
    try meet(a, b)
    return (a, b)
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `an earlier write of another device does not take its place`(_ deletes: DeleteRule) throws {
    let (a, b) = try pair(schema(deletes))
    try b.commit("UPDATE t SET body = 'from b', title = 'from b' WHERE id = '1'")
    try a.commit("UPDATE t SET body = \(large) WHERE id = '1'")
    try a.pull(from: b)
    // What was not written here is as the other device has it.
    #expect(try a.shown == ["1 large from b 0 [] "])
    #expect(try a.store.counts().largeRows == ["t": 1])
    try a.execute("UPDATE t SET body = 'short' WHERE id = '1'")
    try meet(a, b)
    try meet(a, b)
    #expect(try b.shown == ["1 short from b 0 [] "])
    #expect(try a.store.counts().largeRows.isEmpty)
    try expectEqual(a, b, "t")
  }

  @Test(arguments: [plain, schema(.deleteWins), schema(.updateWins)])
  func `a row that two insert, and one of them too large, is one in the end`(_ schema: SyncSchema)
    throws
  {
    let (a, b) = try pair(schema)
    try b.commit("INSERT INTO t (id, body, title, n) VALUES ('2', 'from b', 'B', 3)")
    try a.commit("INSERT INTO t (id, body, title, n) VALUES ('2', \(large), 'A', 3)")
    try a.pull(from: b)
    #expect(try a.shown.last??.hasPrefix("2 large A") == true)
    try a.execute("UPDATE t SET body = 'short' WHERE id = '2'")
    try meet(a, b)
    try meet(a, b)
    #expect(try b.shown.last??.hasPrefix("2 short A") == true)
    try expectEqual(a, b, "t")
  }

  @Test func `what adds up counts what both did`() throws {
    let (a, b) = try pair(schema(.deleteWins))
    try a.execute("UPDATE t SET n = 10, tags = '[\"x\",\"y\"]', prose = 'one two three'")
    try meet(a, b)
    try b.commit(
      "UPDATE t SET n = n + 5, tags = '[\"b\",\"x\"]', prose = 'one two three four'")
    try a.commit(
      """
      UPDATE t SET body = \(large), n = n + 1, tags = '[\"a\",\"x\",\"y\"]', prose = 'zero one three'
      """)
    try a.pull(from: b)
    #expect(try a.shown == ["1 large T 16 [\"a\",\"b\",\"x\"] zero one three four"])
    // Pulling the same again changes nothing.
    try a.pull(from: b)
    try a.execute("UPDATE t SET body = 'short'")
    try meet(a, b)
    try meet(a, b)
    #expect(try b.shown == ["1 short T 16 [\"a\",\"b\",\"x\"] zero one three four"])
    try expectEqual(a, b, "t")
  }

  @Test func `what lost against another device is not said to be the large value`() throws {
    let (a, b) = try pair(plain)
    try a.commit("UPDATE t SET body = 'small from a'")
    try a.commit("UPDATE t SET body = \(large)")
    try b.commit("UPDATE t SET body = 'from b'")
    try a.pull(from: b)
    #expect(try a.shown == ["1 large T 0 [] "])
    let inbox = try a.database.read { try a.replica.inbox(in: $0) }
    #expect(inbox.flatMap { $0.values.values }.isEmpty)
  }

  @Test func `a snapshot leaves it, and its own earlier operations do too`() throws {
    let (a, b) = try pair(schema(.deleteWins))
    try b.commit("UPDATE t SET title = 'from b', n = n + 5 WHERE id = '1'")
    // In operations of this device that the snapshot lacks.
    try a.commit("UPDATE t SET body = 'small', n = n + 1 WHERE id = '1'")
    try a.commit("INSERT INTO t (id, body, title, n) VALUES ('2', 'small', 'new', 2)")
    try a.commit("UPDATE t SET body = \(large), n = n + 10")
    let before = try a.store.counts().largeRows
    try a.load(Parts(of: b))
    #expect(try a.shown == ["1 large from b 16 [] ", "2 large new 12 [] "])
    #expect(try before == ["t": 2] && a.store.counts().largeRows == before)
    try a.execute("UPDATE t SET body = 'short'")
    try meet(a, b)
    try meet(a, b)
    #expect(try b.shown == ["1 short from b 16 [] ", "2 short new 12 [] "])
    try expectEqual(a, b, "t")
  }
}
