import GRDB
import TernCore
import TestDevice
import Testing

@testable import Tern

private let list = "CREATE TABLE list (id TEXT NOT NULL PRIMARY KEY, name TEXT);"
private let schema = SyncSchema(version: 1, tables: [SyncTable("list")])

/// Rows of tables that do not sync, whose parent another device deletes.
@Suite("Merge: local rows of a deleted parent")
struct LocalChildTests {
  /// Two devices with a list 'a' and a list 'b'; the first has rows of its own.
  private func pair(_ tables: String, _ rows: String, schema: SyncSchema = schema) throws -> (
    Device, Device
  ) {
    let (a, b) = try Device.pair(schema, list + tables)
    try b.commit("INSERT INTO list VALUES ('a', 'A'), ('b', 'B')")
    try a.pull(from: b)
    try a.execute(rows)
    return (a, b)
  }

  @Test(arguments: [
    ("ON DELETE CASCADE", ["b"]), ("ON DELETE SET NULL", [nil, "b"]),
    ("DEFAULT 'b' REFERENCES list ON DELETE SET DEFAULT", ["b", "b"]),
    ("DEFAULT 'no' REFERENCES list ON DELETE SET DEFAULT", ["a", "b"]),
    ("NOT NULL REFERENCES list ON DELETE SET NULL", ["a", "b"]),
    ("REFERENCES list", ["a", "b"]), ("REFERENCES list ON DELETE RESTRICT", ["a", "b"]),
  ])
  func `become what their foreign key declares`(_ key: String, _ left: [String?]) throws {
    let key = key.contains("REFERENCES") ? key : "REFERENCES list \(key)"
    let (a, b) = try pair(
      "CREATE TABLE pin (n INTEGER PRIMARY KEY, list TEXT \(key))",
      "INSERT INTO pin VALUES (1, 'a'), (2, 'b')")
    try b.commit("DELETE FROM list WHERE id = 'a'")
    let operations = try a.store.counts().operations
    try a.pull(from: b)
    #expect(try a.column("SELECT list FROM pin ORDER BY n") == left)
    try a.store.seal()
    #expect(try a.store.counts().operations == operations + 1)
    #expect(try a.noted() == 0)
  }
}

extension Device {
  /// How many parents were noted that nobody has looked at since.
  fileprivate func noted() throws -> Int {
    try store.access.read { try $0.connection.count($0.tables.goneLocal) }
  }
}
