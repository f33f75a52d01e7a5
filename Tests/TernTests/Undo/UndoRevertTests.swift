import Foundation
import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE t (
    id TEXT NOT NULL PRIMARY KEY, a, b, n INTEGER NOT NULL DEFAULT 0, hi,
    tags TEXT NOT NULL DEFAULT '[]', body TEXT NOT NULL DEFAULT '')
  """

/// A device, one that goes bad, and a third.
private func three(_ deletes: DeleteRule = .deleteWins) throws -> (Device, Device, Device) {
  let schema = SyncSchema(
    version: 1,
    tables: [
      SyncTable(
        "t", merge: ["n": .counter, "hi": .max, "tags": .set, "body": .text], deletes: deletes)
    ])
  func device(_ id: UInt64) throws -> Device {
    try Device(schema, id: id) { try $0.execute(sql: creation) }
  }
  return (try device(1), try device(2), try device(3))
}

private func meet(_ devices: (Device, Device, Device)) throws {
  for _ in 0..<2 {
    try meet(devices.0, devices.1)
    try meet(devices.1, devices.2)
    try meet(devices.0, devices.2)
  }
}

extension Device {
  fileprivate var content: [String] {
    get throws {
      try column(
        "SELECT id || quote(a) || quote(b) || n || quote(hi) || tags || body FROM t ORDER BY id"
      ).compactMap { $0 }
    }
  }
}

private let book = #"INSERT INTO t VALUES ('1', 'x', 'y', 5, 3, '["p","q"]', 'Call me Ishmael.')"#

@Suite("Undo: what an author wrote is taken back")
struct UndoRevertTests {
  @Test(arguments: DeleteRule.Kind.allCases)
  func `deleted rows come back on every device, and undo takes that back`(_ rule: DeleteRule.Kind)
    async throws
  {
    let (a, m, c) = try three(DeleteRule(rule))
    try a.commit(book + "; INSERT INTO t (id, a) VALUES ('2', 'z')")
    try meet((a, m, c))
    try c.commit("UPDATE t SET n = n + 1, tags = json_array('p', 'r'), body = body || '!'")
    try meet((a, m, c))
    let before = try a.content
    let last = try m.lastSequence
    try m.commit("UPDATE t SET a = 'bad', n = 0, tags = '[]', body = '' WHERE id = '1'")
    try m.commit("DELETE FROM t WHERE id = '1'")
    try m.commit("DELETE FROM t")
    try meet((a, m, c))
    #expect(try a.content.isEmpty)
    let reverted = try await a.revert(m, after: last)
    #expect(reverted.actions == [.broughtBack, .broughtBack])
    #expect(reverted.operations == 3 && reverted.rows.allSatisfy(\.left.isEmpty))
    #expect(
      "\(reverted)" == "replica 00000000000000000000000000000002: rows of “t”: 2 brought back")
    #expect(try a.content == before)
    try meet((a, m, c))
    try expectEqual(a, c, "t")
    try expectEqual(a, m, "t")
    try expectHealthy(a)
    // There is nothing more to take back, also for whoever did not ask first.
    #expect(try await a.revert(m, after: last).rows.isEmpty)
    #expect(try await c.revert(m, after: last).isNothing)
    #expect(try a.content == before)
    #expect(try a.store.undo()?.rows.map(\.action) == [.removed, .removed])
    #expect(try a.content.isEmpty)
    try meet((a, m, c))
    try expectEqual(a, c, "t")
  }

  @Test func `overwritten columns get the value of the last other write`() async throws {
    let (a, m, c) = try three()
    try a.commit(book)
    try meet((a, m, c))
    try m.commit("UPDATE t SET a = 'good'")
    let last = try m.lastSequence
    try m.commit("UPDATE t SET a = 'bad', b = 'bad', hi = 9")
    try meet((a, m, c))
    try c.commit("UPDATE t SET b = 'theirs'")
    try meet((a, m, c))
    try m.commit("UPDATE t SET a = 'worse'")
    try meet((a, m, c))
    let reverted = try await a.revert(m, after: last)
    #expect(reverted.actions == [.restored] && reverted.rows[0].columns == ["a"])
    #expect(reverted.rows[0].left == ["b": .changedSince, "hi": .extreme])
    #expect(try a.column("SELECT a || b || hi FROM t") == ["goodtheirs9"])
    #expect(try await a.revert(m, after: last).rows.map(\.action) == [.left])
    try meet((a, m, c))
    try expectEqual(a, c, "t")
  }

  @Test func `counters, sets and texts lose what the author did, and keep the others' part`()
    async throws
  {
    let (a, m, c) = try three()
    try a.commit(book)
    try meet((a, m, c))
    let last = try m.lastSequence
    try m.commit(#"UPDATE t SET n = n - 100, tags = '["bad"]', body = ''"#)
    try m.commit(#"UPDATE t SET n = n - 100, tags = '["bad","p"]'"#)
    // Not knowing of that, the third writes too.
    try c.commit("UPDATE t SET n = n + 1, tags = json_insert(tags, '$[#]', 'r')")
    try c.commit("UPDATE t SET body = body || ' Some years ago'")
    try meet((a, m, c))
    try c.commit("UPDATE t SET n = n + 1, tags = json_insert(tags, '$[#]', 's')")
    try meet((a, m, c))
    let right = [#"1'x''y'73["p","q","r","s"]Call me Ishmael. Some years ago"#]
    for _ in 0..<2 {
      try await a.revert(m, after: last)
      #expect(try a.content == right)
    }
    try meet((a, m, c))
    #expect(try c.content == right)
    try expectEqual(a, c, "t")
    try expectEqual(a, m, "t")
    // What it does later is taken back by a later call, and what came before not twice.
    try m.commit("UPDATE t SET n = n - 7")
    try meet((a, m, c))
    try await a.revert(m, after: last)
    #expect(try a.content == right)
  }

  @Test func `a text that others went on with is left`() async throws {
    let (a, m, c) = try three()
    try a.commit(book)
    try meet((a, m, c))
    let last = try m.lastSequence
    try m.commit("UPDATE t SET body = 'All of this is spam.'")
    try meet((a, m, c))
    try c.commit("UPDATE t SET body = 'All of this is bad spam.'")
    try meet((a, m, c))
    let reverted = try await a.revert(m, after: last)
    #expect(reverted.rows.map(\.left) == [["body": .changedSince]])
    #expect(try a.column("SELECT body FROM t") == ["All of this is bad spam."])
  }

  @Test func `inserted rows go, and stay where others changed them`() async throws {
    let (a, m, c) = try three()
    try m.commit("INSERT INTO t (id, a) VALUES ('0', 'good')")
    let last = try m.lastSequence
    try m.commit(
      "INSERT INTO t (id, a, n) VALUES ('1', 'bad', 1), ('2', 'bad', 1), ('3', 'bad', 1)")
    try m.commit("DELETE FROM t WHERE id = '3'; INSERT INTO t (id, a) VALUES ('3', 'again')")
    try m.commit("INSERT INTO t (id) VALUES ('4'); UPDATE t SET a = 'worse' WHERE id = '1'")
    try m.commit("DELETE FROM t WHERE id = '4'")
    try meet((a, m, c))
    try c.commit("UPDATE t SET b = 'kept' WHERE id = '2'")
    try meet((a, m, c))
    // The row is the author's, and what others wrote to it comes back with it.
    try m.commit("DELETE FROM t WHERE id = '2'")
    try meet((a, m, c))
    let reverted = try await a.revert(m, after: last)
    #expect(reverted.actions.count { $0 == .removed } == 2)
    #expect(reverted.actions.count { $0 == .broughtBack } == 1)
    #expect(try a.column("SELECT id || a || coalesce(b, '') FROM t") == ["0good", "2badkept"])
    #expect(try await a.revert(m, after: last).rows.isEmpty)
    try meet((a, m, c))
    try expectEqual(a, c, "t")
  }

  @Test(arguments: DeleteRule.Kind.allCases)
  func `a row that the author replaced gets its values back`(_ rule: DeleteRule.Kind) async throws {
    let (a, m, c) = try three(DeleteRule(rule))
    try a.commit(book)
    try meet((a, m, c))
    let last = try m.lastSequence
    try m.commit("DELETE FROM t")
    try m.commit(#"INSERT INTO t VALUES ('1', 'bad', 'bad', 50, 1, '["bad"]', 'bad')"#)
    try meet((a, m, c))
    try c.commit("UPDATE t SET b = 'theirs', n = n + 1")
    try meet((a, m, c))
    let reverted = try await a.revert(m, after: last)
    #expect(reverted.rows.first?.left["b"] == .changedSince)
    #expect(try a.content == [#"1'x''theirs'61["p","q"]Call me Ishmael."#])
    try meet((a, m, c))
    try expectEqual(a, c, "t")
  }

  @Test func `a deleted row that somebody inserted again stays theirs`() async throws {
    let (a, m, c) = try three()
    try a.commit(book)
    try meet((a, m, c))
    let last = try m.lastSequence
    try m.commit("DELETE FROM t")
    try meet((a, m, c))
    try c.commit("INSERT INTO t (id, a) VALUES ('1', 'theirs')")
    try meet((a, m, c))
    let left = try await a.revert(m, after: last)
    #expect(left.actions == [.left] && left.rows[0].left["a"] == .changedSince)
    #expect(try a.column("SELECT a FROM t") == ["theirs"])
    // What the author does to that one is taken back.
    try m.commit("UPDATE t SET a = 'bad'")
    try meet((a, m, c))
    try await a.revert(m, after: last)
    #expect(try a.column("SELECT a FROM t") == ["theirs"])
  }

  @Test func `a row that others deleted too stays deleted`() async throws {
    let (a, m, c) = try three()
    try a.commit(book)
    try meet((a, m, c))
    let last = try m.lastSequence
    try c.commit("DELETE FROM t")
    try delay(m, after: c)
    try m.commit("DELETE FROM t")
    try meet((a, m, c))
    #expect(try await a.revert(m, after: last).actions == [.left])
    #expect(try a.content.isEmpty)
  }

  @Test func `a preview says the same and writes nothing`() async throws {
    let (a, m, c) = try three()
    try a.commit(book)
    try meet((a, m, c))
    let last = try m.lastSequence
    try m.commit("UPDATE t SET n = 0, a = 'bad'; INSERT INTO t (id) VALUES ('2')")
    try meet((a, m, c))
    let (before, operations) = (try a.content, try a.store.counts().operations)
    let preview = try await a.revert(m, after: last, preview: true)
    #expect(try a.content == before && a.store.counts().operations == operations)
    #expect(try await a.revert(m, after: last) == preview)
    #expect(try a.content == [#"1'x''y'53["p","q"]Call me Ishmael."#])
  }

  @Test func `a moment does as a sequence`() async throws {
    let (a, m, c) = try three()
    try a.commit(book)
    try meet((a, m, c))
    try m.commit("UPDATE t SET a = 'good'")
    try meet((a, m, c))
    let good = try #require(try await a.replica.history("t", key: ["1"]).changes.last)
    try delay(m, after: m)
    try m.commit("UPDATE t SET a = 'bad'")
    try meet((a, m, c))
    let author = good.stamp.author
    #expect(try await a.replica.revert(author: author, after: .distantFuture).operations == 0)
    #expect(
      try await a.replica.revert(author: author, after: good.stamp.time.date).operations == 1)
    #expect(try a.column("SELECT a FROM t") == ["good"])
    #expect(try await a.replica.revert(author: author, after: .distantPast).operations == 2)
  }

  @Test func `an operation of many parts is taken back whole`() async throws {
    let (a, m, c) = try three()
    try a.commit(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
      INSERT INTO t (id, a) SELECT i, hex(randomblob(2000)) FROM n
      """)
    try meet((a, m, c))
    try m.commit("UPDATE t SET b = hex(randomblob(2000))")
    let last = try m.lastSequence
    #expect(last > 1)
    try meet((a, m, c))
    let reverted = try await a.revert(m, after: last - 1)
    #expect(reverted.rows.count == 200 && reverted.operations == Int(last))
    #expect(try a.column("SELECT count(*) FROM t WHERE b IS NULL") == ["200"])
  }

  @Test func `this device's own writes are reverted, and what it has undone is passed over`()
    async throws
  {
    let (a, m, c) = try three()
    try a.commit(book)
    try meet((a, m, c))
    try a.commit("UPDATE t SET n = n + 1, a = 'undone'")
    _ = try a.store.undo()
    try a.commit("UPDATE t SET n = n + 10, a = 'faulty'")
    try a.commit("INSERT INTO t (id) VALUES ('2')")
    for _ in 0..<2 {
      try await a.revert(a, after: 1)
      #expect(try a.content == [#"1'x''y'53["p","q"]Call me Ishmael."#])
    }
    #expect(try a.store.undo() != nil)
    #expect(try a.column("SELECT id || n FROM t ORDER BY id") == ["115", "20"])
    // The revert is taken back, so what it reverted can be undone again.
    #expect(try a.store.undo()?.rows.map(\.action) == [.removed])
    #expect(try a.store.undo()?.rows.map(\.action) == [.restored])
    #expect(try a.content == [#"1'x''y'53["p","q"]Call me Ishmael."#])
    #expect(try a.store.undo()?.sequence == 1)
    try meet((a, m, c))
    try expectEqual(a, c, "t")
  }

  @Test func `what is corrected is so under a new id of this device too`() async throws {
    let (a, m, c) = try three()
    try a.commit(book)
    try meet((a, m, c))
    try m.commit("UPDATE t SET n = n - 3, a = 'bad'")
    try meet((a, m, c))
    try await a.revert(m, after: 0)
    let own = try a.store.replicaID()
    #expect(try a.store.changeID(from: own, after: 1, at: "r") != nil)
    #expect(try await a.revert(m, after: 0).rows.isEmpty)
    #expect(try a.column("SELECT a || n FROM t") == ["x5"])
    #expect(try a.store.undo()?.rows.map(\.action) == [.restored])
    #expect(try a.column("SELECT a || n FROM t") == ["bad2"])
  }

  @Test func `rows that were there before their table synced are not taken away`() async throws {
    let device = try Device(SyncSchema(version: 1, tables: [SyncTable("t")]), id: 1) { db in
      try db.execute(sql: creation + "; INSERT INTO t (id, a) VALUES ('1', 'x')")
    }
    try device.commit("UPDATE t SET a = 'y'")
    try await device.revert(device, after: 0)
    #expect(try device.column("SELECT a FROM t") == ["x"])
  }

  @Test func `a preview names the rows that another device adopted as removed`() async throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("t")])
    let a = try Device(schema, id: 1) { try $0.execute(sql: creation) }
    let m = try Device(schema, id: 2) { db in
      try db.execute(sql: creation + "; INSERT INTO t (id, a) VALUES ('1', 'x')")
    }
    let adopted = try m.lastSequence
    try m.commit("INSERT INTO t (id, a) VALUES ('2', 'bad')")
    try meet(a, m)
    let preview = try await a.revert(m, after: 0, preview: true)
    #expect(preview.actions == [.removed, .removed] && preview.rows.map(\.key) == [["1"], ["2"]])
    try await a.revert(m, after: adopted)
    #expect(try a.column("SELECT id FROM t") == ["1"])
  }

  @Test func `an author of whom nothing came is an error that says what to do`() async throws {
    let (a, m, _) = try three()
    let error = await #expect(throws: ReplicaError.self) { try await a.revert(m, after: 0) }
    #expect(error?.code == .unknownAuthor && error?.message.contains("Replica.history") ?? false)
  }
}
