import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE t (
    id TEXT NOT NULL PRIMARY KEY, a UNIQUE, n INTEGER NOT NULL DEFAULT 0,
    tags TEXT NOT NULL DEFAULT '[]', body TEXT NOT NULL DEFAULT '')
  """
private let start =
  #"INSERT INTO t VALUES ('1', 'x', 5, '["p"]', 'Call me.'), ('2', 'y', 1, '[]', '')"#

private func pair(_ deletes: DeleteRule = .deleteWins) throws -> (Device, Device) {
  try Device.pair(
    SyncSchema(
      version: 1,
      tables: [
        SyncTable("t", merge: ["n": .counter, "tags": .set, "body": .text], deletes: deletes)
      ]), creation)
}

extension Device {
  fileprivate var content: [String?] {
    get throws { try column("SELECT id || a || n || tags || body FROM t ORDER BY id") }
  }
}

/// What a mark says is what was taken back, no more and no less.
@Suite("Undo: a revert after a revert")
struct UndoRevertAgainTests {
  @Test func `a row that was left is corrected by a later call, and then no more`() async throws {
    let (a, m) = try pair()
    try a.commit(start)
    try meet(a, m)
    try m.commit(
      #"UPDATE t SET a = a || 'bad', n = n - 100, tags = '["bad"]', body = 'spam' || body"#)
    try meet(a, m)
    try a.commit("INSERT INTO t (id, a) VALUES ('3', 'x')")
    let first = try await a.revert(m, after: 0)
    #expect(Set(first.actions) == [.left, .restored])
    #expect(try Array(a.content.dropFirst()) == ["2y1[]", "3x0[]"])
    try a.commit("UPDATE t SET a = 'mine' WHERE id = '3'")
    #expect(try await a.revert(m, after: 0).actions == [.restored])
    for _ in 0..<2 {
      #expect(try a.content == [#"1x5["p"]Call me."#, "2y1[]", "3mine0[]"])
      #expect(try await a.revert(m, after: 0).rows.isEmpty)
    }
    try meet(a, m)
    try expectEqual(a, m, "t")
    try expectHealthy(a)
  }

  @Test(arguments: DeleteRule.Kind.allCases)
  func `what an undo of a revert put back is reverted again`(_ rule: DeleteRule.Kind) async throws {
    let (a, m) = try pair(DeleteRule(rule))
    try a.commit(start)
    try meet(a, m)
    let good = try a.content
    try m.commit(
      #"UPDATE t SET a = 'bad', n = n - 100, tags = '["bad"]', body = 'spam' WHERE id = '1'"#)
    try m.commit("INSERT INTO t (id, a, n) VALUES ('3', 'c', 7); DELETE FROM t WHERE id = '2'")
    try meet(a, m)
    let bad = try a.content
    for _ in 0..<3 {
      let reverted = try await a.revert(m, after: 0)
      #expect(Set(reverted.actions) == [.restored, .removed, .broughtBack])
      #expect(!reverted.rows.contains { !$0.left.isEmpty })
      #expect(try a.content == good)
      #expect(try await a.revert(m, after: 0).rows.isEmpty)
      #expect(try a.store.undo() != nil)
      #expect(try a.content == bad)
    }
    try meet(a, m)
    try expectEqual(a, m, "t")
    try await a.revert(m, after: 0)
    try meet(a, m)
    #expect(try m.content == good)
    try expectHealthy(a)
  }

  @Test func `a row that others changed and the author deleted comes back again`() async throws {
    let (a, m) = try pair()
    try m.commit("INSERT INTO t (id, a, n) VALUES ('1', 'x', 7)")
    try meet(a, m)
    try a.commit("UPDATE t SET n = n + 1")
    try meet(a, m)
    try m.commit("DELETE FROM t")
    try meet(a, m)
    for _ in 0..<2 {
      #expect(try await a.revert(m, after: 0).actions == [.broughtBack])
      #expect(try a.content == ["1x8[]"])
      #expect(try a.store.undo() != nil)
      #expect(try a.content.isEmpty)
    }
  }

  @Test func `what others wrote since an undo of a revert stays`() async throws {
    let (a, m) = try pair()
    try a.commit(start)
    try meet(a, m)
    try m.commit(#"UPDATE t SET a = 'bad', n = n - 100, tags = '["bad"]' WHERE id = '1'"#)
    try meet(a, m)
    try await a.revert(m, after: 0)
    _ = try a.store.undo()
    try a.commit("UPDATE t SET a = 'own', n = n + 1 WHERE id = '1'")
    let reverted = try await a.revert(m, after: 0)
    #expect(reverted.rows.map(\.left) == [["a": .changedSince]])
    #expect(try a.content == [#"1own6["p"]Call me."#, "2y1[]"])
  }

  @Test func `marks of a file of before stand for whole operations`() async throws {
    let (a, m) = try pair()
    try a.commit(start)
    try meet(a, m)
    try m.commit("UPDATE t SET n = n - 100 WHERE id = '1'")
    try m.commit("UPDATE t SET n = n - 1 WHERE id = '1'")
    try meet(a, m)
    // As a revert of the first left it: the author's place is 1.
    try a.makeRareTables()
    try a.execute(
      "INSERT INTO grdb_tern_main_undone VALUES ((1 << 40) + 1, 3); UPDATE t SET n = n + 100")
    try await a.revert(m, after: 0)
    #expect(try a.column("SELECT n FROM t ORDER BY id") == ["5", "101"])
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `under a new id it is known what this device took back of itself`(_ last: UInt64)
    async throws
  {
    let (a, _) = try pair()
    try a.commit(start)
    try a.commit("UPDATE t SET a = 'faulty', n = n + 10 WHERE id = '1'")
    try await a.revert(a, after: 1)
    let good = try a.content
    let former = try a.store.replicaID()
    #expect(try a.store.changeID(from: former, after: last, at: "r") != nil)
    #expect(try await a.replica.revert(author: former, after: 1).rows.isEmpty)
    #expect(try await a.revert(a, after: 0).rows.isEmpty)
    #expect(try a.content == good)
  }
}
