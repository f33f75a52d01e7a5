import GRDB
import Tern
import TestDevice
import Testing

private let creation = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, import TEXT, a)"

private func pair() throws -> (Device, Device) {
  let schema = SyncSchema(version: 1, tables: [SyncTable("t")])
  return try Device.pair(schema, creation)
}

extension Device {
  /// What one import brought is one action.
  fileprivate func undoImport() throws -> [UndoneOperation] {
    try store.undo { db, rows in
      for row in rows where row.table == "t" {
        let name = try String.fetchOne(
          db, sql: "SELECT import FROM t WHERE id = ?", arguments: [row.key.first?.string])
        if let name { return name }
      }
      return nil as String?
    }
  }

  fileprivate var rows: [String?] { get throws { try column("SELECT id FROM t ORDER BY id") } }
}

@Suite("Undo: actions of several parts")
struct UndoActionTests {
  @Test func `all parts of an action are taken back, and what stands between them stays`() throws {
    let (a, b) = try pair()
    try a.commit("INSERT INTO t VALUES ('0', 'x', '')")
    try a.commit("INSERT INTO t VALUES ('1', 'y', ''), ('2', 'y', '')")
    try a.commit("INSERT INTO t VALUES ('3', NULL, '')")
    try a.commit("INSERT INTO t VALUES ('4', 'y', '')")
    try meet(a, b)
    let undone = try a.undoImport()
    #expect(undone.map { $0.rows.map(\.key) } == [[["4"]], [["1"], ["2"]]])
    #expect(undone.flatMap(\.rows).allSatisfy { $0.action == .removed })
    #expect(try a.rows == ["0", "3"])
    try meet(a, b)
    try expectEqual(a, b, "t")
    // One that is an action by itself, and one whose parts are only one.
    #expect(try a.undoImport().flatMap(\.rows).map(\.key) == [["3"]])
    #expect(try a.undoImport().flatMap(\.rows).map(\.key) == [["0"]])
    #expect(try a.undoImport().isEmpty)
    try meet(a, b)
    #expect(try b.rows.isEmpty)
  }

  @Test func `a row that several parts wrote has its value from before all of them`() throws {
    let (a, b) = try pair()
    try a.commit("INSERT INTO t VALUES ('1', NULL, 'before')")
    for value in ["one", "two", "three"] {
      try a.commit("UPDATE t SET import = 'y', a = '\(value)'")
    }
    #expect(try a.undoImport().count == 3)
    #expect(try a.column("SELECT a || coalesce(import, '-') FROM t") == ["before-"])
    try meet(a, b)
    try expectEqual(a, b, "t")
  }

  @Test func `what the app throws leaves everything as it was`() throws {
    struct Refused: Error {}
    let (a, _) = try pair()
    try a.commit("INSERT INTO t VALUES ('1', 'y', '')")
    try a.commit("INSERT INTO t VALUES ('2', 'y', '')")
    #expect(throws: Refused.self) {
      try a.store.undo { _, rows in
        if rows.map(\.key) == [["1"]] { throw Refused() }
        return 1 as Int?
      }
    }
    #expect(try a.rows == ["1", "2"])
    #expect(try a.undoImport().count == 2)
  }
}
