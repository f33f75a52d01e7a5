import GRDB
import Tern
import TestDevice
import Testing

private let schema = SyncSchema(version: 1, tables: [SyncTable("t", merge: ["body": .text])])
private let creation = """
  CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL DEFAULT '', name)
  """

private func pair() throws -> (Device, Device) {
  try Device.pair(schema, creation)
}

extension Device {
  fileprivate var body: String? {
    get throws { try column("SELECT body FROM t WHERE id = '1'").first ?? nil }
  }
}

@Suite("Undo: edits of a text")
struct UndoTextTests {
  @Test func `each call takes back one edit of a text, insertion or removal, on every device`()
    throws
  {
    let (a, b) = try pair()
    try a.commit("INSERT INTO t VALUES ('1', 'Call me', 'n')")
    let steps = ["Call me Ishmael.", "Some years ago. Call me", "", "Néw 🐋 text", "text"]
    for step in steps { try a.commit("UPDATE t SET body = '\(step)'") }
    try meet(a, b)
    for step in (["Call me"] + steps).dropLast().reversed() {
      let undone = try #require(try a.store.undo())
      #expect(undone.rows.map(\.action) == [.restored])
      #expect(undone.rows[0].columns == ["body"] && undone.rows[0].left.isEmpty)
      #expect(try a.body == step)
      try meet(a, b)
      try expectEqual(a, b, "t")
    }
    #expect(try a.store.undo()?.rows.map(\.action) == [.removed])
    #expect(try a.store.undo() == nil)
    try meet(a, b)
    try expectEqual(a, b, "t")
  }

  @Test func `what another inserted and removed at the same time stays when an edit is taken back`()
    throws
  {
    let (a, b) = try pair()
    try a.commit("INSERT INTO t VALUES ('1', 'The quick fox', 'n')")
    try meet(a, b)
    for text in ["quick fox", "quick fox jumps"] { try b.commit("UPDATE t SET body = '\(text)'") }
    // Later than the other's, in one millisecond too.
    for name in ["l", "m", "o"] { try a.commit("UPDATE t SET name = '\(name)'") }
    try a.commit("UPDATE t SET body = 'The quick brown fox', name = 'p'")
    try meet(a, b)
    #expect(try a.body == "quick brown fox jumps")
    let undone = try #require(try a.store.undo())
    #expect(undone.rows[0].columns == ["body", "name"])
    #expect(try a.body == "quick fox jumps")
    try meet(a, b)
    #expect(try b.column("SELECT body || name FROM t") == ["quick fox jumpso"])
    try expectEqual(a, b, "t")
  }

  @Test func `a text that somebody went on with is left, and reported`() throws {
    let (a, b) = try pair()
    try a.commit("INSERT INTO t VALUES ('1', 'one', 'n')")
    try a.commit("UPDATE t SET body = 'one two', name = 'mine'")
    try meet(a, b)
    try b.commit("UPDATE t SET body = 'one two three'")
    try meet(a, b)
    let undone = try #require(try a.store.undo())
    #expect(undone.rows[0].left == ["body": .changedSince] && undone.rows[0].columns == ["name"])
    #expect(try a.column("SELECT body || name FROM t") == ["one two threen"])
    try meet(a, b)
    try expectEqual(a, b, "t")
  }

  @Test func `an undo is one edit, which others' edits after it merge with`() throws {
    let (a, b) = try pair()
    try a.commit("INSERT INTO t VALUES ('1', 'a b c', 'n')")
    try a.commit("UPDATE t SET body = 'a X b c'")
    try meet(a, b)
    let operations = try a.store.counts().operations
    _ = try a.store.undo()
    #expect(try a.store.counts().operations == operations + 1)
    try b.commit("UPDATE t SET body = body || ' d'")
    try meet(a, b)
    try meet(a, b)
    #expect(try a.body == "a b c d")
    try expectEqual(a, b, "t")
    // What came from the other is not what is taken back next.
    #expect(try a.store.undo()?.rows.map(\.action) == [.left])
    #expect(try a.body == "a b c d")
  }

  @Test func `a deleted row comes back with its text`() throws {
    let (a, b) = try pair()
    try a.commit("INSERT INTO t VALUES ('1', 'one', 'n')")
    try meet(a, b)
    try b.commit("UPDATE t SET body = 'one two'")
    try meet(a, b)
    try a.commit("DELETE FROM t")
    #expect(try a.store.undo()?.rows.map(\.action) == [.broughtBack])
    #expect(try a.body == "one two")
    try meet(a, b)
    try expectEqual(a, b, "t")
  }
}
