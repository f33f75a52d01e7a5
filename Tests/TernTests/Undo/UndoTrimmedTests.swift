import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE t (
    id TEXT NOT NULL PRIMARY KEY, a, b, n INTEGER NOT NULL DEFAULT 0, hi,
    tags TEXT NOT NULL DEFAULT '[]', body TEXT NOT NULL DEFAULT '')
  """

private func device(_ id: UInt64, _ deletes: DeleteRule) throws -> Device {
  let schema = SyncSchema(
    version: 1,
    tables: [
      SyncTable(
        "t", merge: ["n": .counter, "hi": .max, "tags": .set, "body": .text], deletes: deletes)
    ])
  return try Device(schema, id: id, logRetention: .seconds(-60)) { try $0.execute(sql: creation) }
}

extension Device {
  fileprivate var content: [String?] {
    get throws {
      try column("SELECT quote(a) || quote(b) || ' ' || n || ' ' || hi || tags || body FROM t")
    }
  }

  /// The log keeps the last operation alone.
  fileprivate func trim() throws {
    try store.trim(heldBy: store.versionVector(), at: "peer")
  }

  /// A row whose beginning the log has forgotten.
  fileprivate func begin() throws {
    try commit(
      """
      INSERT INTO t VALUES ('1', 'first', 'old', 41, 5, '["p"]', 'Call me Ishmael.')
      """)
    try commit("UPDATE t SET b = 'kept'")
    try commit("INSERT INTO t (id, hi) VALUES ('other', 0); DELETE FROM t WHERE id = 'other'")
    try commit("INSERT INTO t (id, hi) VALUES ('gone', 0)")
    try commit("DELETE FROM t WHERE id = 'gone'")
    try trim()
  }
}

private let edit = """
  UPDATE t SET a = 'edited', n = n + 1, hi = 4, tags = json_insert(tags, '$[#]', 'q'),
    body = body || '!'
  """

/// What an undo writes where the log lacks what came before.
@Suite("Undo: a log that was trimmed")
struct UndoTrimmedTests {
  @Test(arguments: [DeleteRule.updateWins, .lastWriter])
  func `a row comes back with what was kept of it, and not with what is left of the log`(
    _ deletes: DeleteRule
  ) throws {
    let (a, b) = (try device(1, deletes), try device(2, deletes))
    try a.begin()
    try a.commit(edit)
    let before = try a.content
    #expect(before == [#"'edited''kept' 42 5["p","q"]Call me Ishmael.!"#])
    try a.commit("DELETE FROM t")
    let undone = try #require(try a.store.undo())
    #expect(undone.rows.map(\.action) == [.broughtBack])
    #expect(undone.rows[0].columns == ["a", "b", "n", "hi", "tags", "body"])
    #expect(undone.rows[0].left.isEmpty)
    #expect(try a.content == before)
    // Another device has it from a snapshot, and no log at all.
    try b.load(Parts(of: a))
    #expect(try b.content == before)
    try expectEqual(a, b, "t")
  }

  @Test(arguments: [DeleteRule.updateWins, .lastWriter])
  func `a device that began from a snapshot brings a row back whole`(_ deletes: DeleteRule) throws {
    let (a, b) = (try device(1, deletes), try device(2, deletes))
    try a.begin()
    try b.load(Parts(of: a))
    try b.commit(edit)
    let before = try b.content
    try b.commit("DELETE FROM t")
    #expect(try b.store.undo()?.rows.map(\.action) == [.broughtBack])
    #expect(try b.content == before)
    try a.pull(from: b)
    #expect(try a.content == before)
    try expectEqual(a, b, "t")
  }

  @Test(arguments: [DeleteRule.updateWins, .lastWriter])
  func `what one write changed and deleted comes back as far as it is known`(_ deletes: DeleteRule)
    throws
  {
    let a = try device(1, deletes)
    try a.begin()
    try a.commit("UPDATE t SET a = 'known'")
    try a.execute(edit + ", b = 'unknown'")
    try a.commit("DELETE FROM t")
    let undone = try #require(try a.store.undo())
    #expect(undone.rows.map(\.action) == [.broughtBack])
    #expect(undone.rows[0].columns == ["a", "b", "n", "hi", "tags", "body"])
    // They come back as they stood last.
    #expect(undone.rows[0].left == ["b": .forgotten, "hi": .forgotten, "body": .forgotten])
    #expect(try a.content == [#"'known''unknown' 41 5["p"]Call me Ishmael.!"#])
    try expectHealthy(a)
  }

  @Test func `of a table that keeps nothing, what the log has not whole stays deleted`() throws {
    let (a, b) = (try device(1, .deleteWins), try device(2, .deleteWins))
    try a.begin()
    try a.commit(edit)
    try b.load(Parts(of: a))
    try b.commit(edit)
    for device in [a, b] {
      try device.commit("DELETE FROM t")
      let undone = try #require(try device.store.undo())
      #expect(undone.rows.map(\.action) == [.left] && undone.rows[0].columns.isEmpty)
      #expect(Set(undone.rows[0].left.keys) == ["a", "b", "n", "hi", "tags", "body"])
      #expect(undone.rows[0].left.values.allSatisfy { $0 == .forgotten })
      #expect(try device.content.isEmpty)
    }
  }

  @Test func `a column that no operation of the log wrote is reported, and not made up`() throws {
    let tables = [SyncTable("t")]
    let old = try Device(SyncSchema(version: 1, tables: tables), id: 1) { db in
      try db.execute(sql: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a)")
    }
    try old.commit("INSERT INTO t VALUES ('1', 'x')")
    let device = try old.upgraded(
      SyncSchema(version: 2, tables: tables), "ALTER TABLE t ADD COLUMN b DEFAULT 'd'",
      "UPDATE t SET b = 'of the migration'")
    try device.commit("DELETE FROM t")
    let undone = try #require(try device.store.undo())
    #expect(undone.rows.map(\.action) == [.broughtBack] && undone.rows[0].columns == ["a"])
    #expect(undone.rows[0].left == ["b": .forgotten])
    #expect(try device.column("SELECT a || b FROM t") == ["xd"])
  }
}
