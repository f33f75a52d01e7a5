import GRDB
import Tern
import TestDevice
import Testing

private func pair(_ deletes: DeleteRule) throws -> (Device, Device) {
  let schema = SyncSchema(
    version: 1, tables: [SyncTable("t", merge: ["n": .counter], deletes: deletes), SyncTable("p")])
  func device(_ id: UInt64) throws -> Device {
    try Device(schema, id: id, logRetention: .seconds(-60)) { db in
      try db.execute(
        sql: """
          CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a, n INTEGER NOT NULL DEFAULT 0);
          CREATE TABLE p (id TEXT NOT NULL PRIMARY KEY, a, b);
          """)
    }
  }
  return (try device(1), try device(2))
}

extension Device {
  /// The log keeps each author's last operation alone.
  fileprivate func trim() throws {
    try store.trim(heldBy: store.versionVector(), at: "peer")
  }

  /// Two operations, so that one of them is trimmed.
  fileprivate func idle(_ name: String) throws {
    try commit("INSERT INTO p (id) VALUES ('\(name)')")
    try commit("DELETE FROM p WHERE id = '\(name)'")
  }
}

/// What a revert does where the log lacks what came before.
@Suite("Undo: reverting from a log that was trimmed")
struct UndoRevertTrimmedTests {
  @Test(arguments: [DeleteRule.updateWins, .lastWriter])
  func `a row comes back with what was kept of it`(_ deletes: DeleteRule) async throws {
    let (a, m) = try pair(deletes)
    try a.commit("INSERT INTO t VALUES ('1', 'x', 5)")
    try a.idle("q")
    try meet(a, m)
    try a.trim()
    try m.commit("UPDATE t SET n = n + 10")
    try m.commit("DELETE FROM t")
    try meet(a, m)
    let reverted = try await a.revert(m, after: 0)
    #expect(reverted.actions == [.broughtBack] && reverted.forgottenThrough == nil)
    #expect(try a.column("SELECT a || n FROM t") == ["x5"])
    try meet(a, m)
    try expectEqual(a, m, "t")
  }

  @Test func `what the log has no more is left and named, and the rest is taken back`()
    async throws
  {
    let (a, m) = try pair(.deleteWins)
    try a.commit("INSERT INTO t VALUES ('1', 'old', 5); INSERT INTO p VALUES ('old', 1, 1)")
    try a.idle("q")
    try m.commit("INSERT INTO p VALUES ('spam', 1, 1)")
    try m.idle("r")
    try meet(a, m)
    try a.trim()
    try a.commit("INSERT INTO p VALUES ('new', 2, 2); UPDATE p SET a = 2 WHERE id = 'old'")
    try meet(a, m)
    try m.commit("DELETE FROM t; UPDATE p SET a = 'bad', b = 'bad' WHERE id = 'old'")
    try m.commit("DELETE FROM p WHERE id = 'new'; INSERT INTO p VALUES ('more', 1, 1)")
    try meet(a, m)
    let reverted = try await a.revert(m, after: 0)
    #expect(reverted.forgottenThrough ?? 0 > 0)
    let rows = Dictionary(uniqueKeysWithValues: reverted.rows.map { ($0.key, $0) })
    #expect(rows[["1"]]?.left == ["a": .forgotten, "n": .forgotten])
    #expect(rows[["old"]]?.columns == ["a"] && rows[["old"]]?.left == ["b": .forgotten])
    #expect(rows[["new"]]?.action == .broughtBack)
    #expect(rows[["more"]]?.left == ["a": .forgotten, "b": .forgotten])
    #expect(
      try a.column("SELECT id || a || b FROM p ORDER BY id")
        == ["more11", "new22", "old2bad", "spam11"])
    try meet(a, m)
    try expectEqual(a, m, "t", "p")
  }
}
