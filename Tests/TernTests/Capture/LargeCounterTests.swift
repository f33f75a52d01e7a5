import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, name)
  """

/// Several devices can count further than a column shows.
@Suite("Capture: sums further than a column shows")
struct LargeCounterTests {
  @Test func `a write to a sum of more than 64 bits counts once, and shows what all others show`()
    throws
  {
    let schema = SyncSchema(version: 1, tables: [SyncTable("t", merge: ["n": .counter])])
    let (a, b) = try Device.pair(schema, creation)
    try a.execute("INSERT INTO t VALUES ('1', \(Int64.max - 5), 'n')")
    try meet(a, b)
    for device in [a, b] { try device.execute("UPDATE t SET n = n + 5") }
    try meet(a, b)
    #expect(try a.column("SELECT n FROM t") == ["\(Int64.max)"])
    try a.execute("UPDATE t SET n = n - 1")
    try a.execute("UPDATE t SET n = n - 1, name = 'm'")
    try meet(a, b)
    try expectEqual(a, b, "t")
    // Five beyond, of which two are taken.
    #expect(try a.column("SELECT n FROM t") == ["\(Int64.max)"])
    try b.execute("UPDATE t SET n = n - 4")
    try meet(a, b)
    #expect(try a.column("SELECT n FROM t") == ["\(Int64.max - 1)"])
    try expectEqual(a, b, "t")
  }
}
