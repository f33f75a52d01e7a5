import Foundation
import GRDB
import Tern
import TestDevice
import Testing

private let creation =
  "CREATE TABLE item (id TEXT NOT NULL PRIMARY KEY, text, n INTEGER NOT NULL DEFAULT 0)"
private let schema = SyncSchema(
  version: 1, tables: [SyncTable("item", merge: ["n": .counter])])

private func device(_ id: UInt64) throws -> Device {
  try Device(DatabaseQueue(), schema, id: id, migrator: .steps([creation]))
}

extension Device {
  /// Sealed operations, of which the last has its body cut short, and that one as it was.
  func operationsWithBadEnd() throws -> (all: [SyncOperation], whole: SyncOperation) {
    var all = try store.operations(lackedBy: VersionVector(), maximumBytes: .max)
    let whole = all.removeLast()
    let body = Array(whole.bytes[whole.bodyOffset...].dropLast(3))
    return (all + [SyncOperation(whole.envelope, body: body)], whole)
  }
}

/// What a group that cannot be read does to a database; the promise itself is in the conformance
/// suite.
@Suite("Merge: groups that cannot be read")
struct PutAsideTests {
  @Test func `nothing of it shows, and a Tern that can read it merges it when it opens`() throws {
    let (a, b) = (try device(1), try device(2))
    try a.execute("INSERT INTO item VALUES ('1', 'one', 1)")
    try a.store.seal()
    try a.execute("UPDATE item SET text = 'two', n = n + 2")
    try a.store.seal()
    let (operations, whole) = try a.operationsWithBadEnd()
    let summary = try b.merge(operations)
    #expect(summary.groupsPutAside == 1 && summary.mergedOperations == 2)
    #expect(try b.column("SELECT text || n FROM item") == ["one1"])
    try a.execute("UPDATE item SET n = n + 4")
    try b.pull(from: a)
    #expect(try b.column("SELECT text || n FROM item") == ["one5"])
    #expect(try b.store.counts().pending.first?.detail.isEmpty == false)
    // Opening with a Tern that reads no better changes nothing.
    var again = try b.upgraded(schema, creation)
    #expect(try again.store.counts().pending[.unreadable] == 1)
    // Bytes that can be read stand for a Tern that reads more.
    try b.execute(
      "UPDATE grdb_tern_main_log SET bytes = ? WHERE id = (SELECT id FROM grdb_tern_main_waiting)",
      [Data(whole.bytes)])
    again = try b.upgraded(schema, creation)
    #expect(try again.store.counts().pending[.unreadable] == 0)
    #expect(try again.column("SELECT text || n FROM item") == ["two7"])
    try expectEqual(again, a, "item")
  }

  @Test func `a database that is damaged is not taken for a peer's bad operation`() throws {
    let (a, b) = (try device(1), try device(2))
    try a.execute("INSERT INTO item VALUES ('1', 'one', 1)")
    try b.pull(from: a)
    try a.execute("UPDATE item SET n = 9")
    try b.execute("UPDATE grdb_tern_main_row_1 SET cells = x'FF'")
    #expect(throws: WireError.self) { try b.pull(from: a) }
    #expect(try b.store.counts().pending[.unreadable] == 0)
  }
}
