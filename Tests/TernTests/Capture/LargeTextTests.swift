import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL DEFAULT '', name)
  """

private let schema = SyncSchema(version: 1, tables: [SyncTable("t", merge: ["body": .text])])

/// Several operations can fill a text further than its column shows it.
@Suite("Capture: texts that operations filled further than a column shows")
struct LargeTextTests {
  private static let shown = 16 << 20
  private static let half = "hex(zeroblob(\(9 << 19)))"

  /// A text of 18 MiB, 9 of the one letter and 9 of the other.
  private func filled() throws -> (Device, Device) {
    let (a, b) = try Device.pair(schema, creation)
    try a.execute("INSERT INTO t VALUES ('1', '', 'n')")
    try a.commit("UPDATE t SET body = \(Self.half)")
    try a.commit("UPDATE t SET body = body || replace(\(Self.half), '0', '1')")
    try meet(a, b)
    #expect(try b.column("SELECT length(body) FROM t") == ["\(Self.shown)"])
    return (a, b)
  }

  @Test func `edits of what is shown are one change that peers take, and leave what is not`()
    throws
  {
    let (a, b) = try filled()
    let kept = 15 << 20
    // The second note names another column too, so that the row is looked at again.
    try a.execute("UPDATE t SET body = substr(body, 1, \(kept))")
    try a.execute("UPDATE t SET body = body || '!', name = 'm'")
    try meet(a, b)
    for device in [a, b] {
      #expect(
        try device.column("SELECT length(body) || substr(body, \(kept), 4) || name FROM t")
          == ["\(Self.shown)1!11m"])
    }
    try expectEqual(a, b, "t")
    // What came into view can be taken out by another write.
    try a.execute("UPDATE t SET body = substr(body, 1, 3), name = 'o'")
    try a.store.seal()
    try a.execute("UPDATE t SET body = substr(body, 1, 3), name = 'p'")
    try meet(a, b)
    #expect(try b.column("SELECT body || name FROM t") == ["000p"])
    try expectEqual(a, b, "t")
  }
}
