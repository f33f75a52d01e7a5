import GRDB
import TernCore
import TestDevice
import Testing

@testable import Tern

private let day: Int64 = 86_400_000

/// What is noted was written so much earlier.
private func age(_ device: Device, by milliseconds: Int64) throws {
  for sql in device.store.access.sql {
    try device.execute("UPDATE \(sql.note.noteTable) SET ms = ms - ?", [milliseconds])
  }
}

private func sealedTimes(_ device: Device) throws -> [HybridTime] {
  let range = try device.store.seal()
  return try device.store.access.read { transaction in
    try range.compactMap { sequence in
      try transaction.log.operation(LogID(author: 0, sequence: sequence))?.envelope.time
    }
  }
}

/// What a widget or a command-line tool writes while no engine runs waits for its seal, and keeps the
/// time at which it was written.
@Suite("Capture: writes of several days in one seal")
struct BurstTests {
  private static let creation = """
    CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a, b, n INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE s (id TEXT NOT NULL PRIMARY KEY, a)
    """
  private static let schema = SyncSchema(
    version: 1, tables: [SyncTable("t", merge: ["n": .counter]), SyncTable("s")])

  /// A week ago, so that what follows is later.
  private func pair() throws -> (Device, Device) {
    let (a, b) = try Device.pair(Self.schema, Self.creation)
    try a.execute("INSERT INTO t VALUES ('1', 'old', 'old', 0), ('2', 'old', 'old', 0)")
    try age(a, by: 7 * day)
    try a.store.seal()
    try meet(a, b)
    return (a, b)
  }

  @Test func `INV-02: a later write of another device beats the earlier of two in one seal`() throws
  {
    let (widget, other) = try pair()
    try widget.execute("UPDATE t SET a = 'monday', n = n + 1 WHERE id = '1'")
    try age(widget, by: 2 * day)
    try other.execute("UPDATE t SET a = 'wednesday', b = 'wednesday', n = n + 1 WHERE id = '1'")
    try other.execute("UPDATE t SET a = 'wednesday' WHERE id = '2'")
    try age(other, by: 2 * day)
    try other.store.seal()
    try age(widget, by: 2 * day)
    try widget.execute("UPDATE t SET b = 'friday', n = n + 1 WHERE id = '1'")
    try widget.execute("UPDATE t SET a = 'friday' WHERE id = '2'")
    try widget.store.seal()
    try meet(widget, other)
    for device in [widget, other] {
      let rows = try device.rows("SELECT a, b, n FROM t ORDER BY id")
      #expect(rows[0] == ["wednesday".databaseValue, "friday".databaseValue, 3.databaseValue])
      #expect(rows[1][0] == "friday".databaseValue)
    }
    #expect(try widget.store.canonicalState() == other.store.canonicalState())
  }

  @Test(arguments: [(50_000, 1), (70_000, 2)])
  func `a minute's pause in all tables begins another operation`(
    _ pause: Int64, _ count: Int
  ) throws {
    let (device, _) = try pair()
    try device.execute("UPDATE t SET a = 'x' WHERE id = '1'")
    try age(device, by: 50_000)
    try device.execute("INSERT INTO s VALUES ('1', 'x')")
    try age(device, by: pause)
    try device.execute("UPDATE t SET b = 'x' WHERE id = '1'")
    let times = try sealedTimes(device).map(\.milliseconds)
    #expect(times.count == count)
    let between = times[times.count - 1] - times[0]
    #expect(count == 1 ? between == 0 : (69_000...80_000).contains(between))
    #expect(try device.store.counts().unsealedChanges == 0)
  }

  @Test func `what one transaction writes is not cut by its own pauses`() throws {
    let (device, _) = try pair()
    try device.execute("UPDATE t SET a = 'x' WHERE id = '1'")
    try age(device, by: 100_000)
    try device.execute("UPDATE t SET b = 'x' WHERE id = '1'")
    try device.store.access.read { transaction in
      let now = ContinuousClock.now
      for (seconds, count) in [(1, 2), (90, 2), (110, 1)] {
        let start = now.advanced(by: .seconds(-seconds))
        let bursts = try NoteBurst.all(in: transaction, since: start).bursts
        #expect(bursts.count == count)
      }
    }
  }

  /// What was noted under the wrong time would otherwise wait for that time.
  @Test func `a clock that was set back is not believed for what was written before`() throws {
    let (device, _) = try pair()
    try device.execute("UPDATE t SET a = 'x' WHERE id = '1'")
    try age(device, by: -365 * day)
    try device.execute("UPDATE t SET a = 'y' WHERE id = '1'")
    let now = try device.store.access.read { try $0.clock.milliseconds() }
    let times = try sealedTimes(device)
    #expect(times.count == 1)
    #expect(times[0].milliseconds <= now)
  }

  @Test func `a transaction of several tables is one operation in each burst`() throws {
    let (device, other) = try pair()
    for number in 1...3 {
      try device.execute(
        """
        INSERT INTO s VALUES ('\(number)', 'x'); INSERT INTO t VALUES ('n\(number)', 1, 2, 3);
        UPDATE t SET n = n + 1 WHERE id = '1'
        """)
      try age(device, by: day)
    }
    #expect(try sealedTimes(device).count == 3)
    try meet(device, other)
    let counts = try other.rows("SELECT count(*), sum(n) FROM t")
    #expect(counts == [[5.databaseValue, 12.databaseValue]])
    #expect(try other.rows("SELECT count(*) FROM s") == [[3.databaseValue]])
    #expect(try device.store.canonicalState() == other.store.canonicalState())
  }

  /// An operation of Monday that had what was written on Friday would be what an undo goes back to.
  @Test func `an undo takes back what was written in several bursts`() throws {
    let (device, other) = try pair()
    try device.execute(
      "UPDATE t SET a = 'monday', n = 5 WHERE id = '1'; INSERT INTO t VALUES ('3', 'new', 1, 0)")
    try device.execute("UPDATE t SET a = 'monday' WHERE id = '2'")
    try age(device, by: day)
    try device.execute(
      "UPDATE t SET a = 'tuesday', n = 7 WHERE id = '1'; UPDATE t SET a = 'old' WHERE id = '3'")
    try device.execute("DELETE FROM t WHERE id = '2'")
    _ = try #require(try device.store.undo())
    try meet(device, other)
    for rows in try [device, other].map({ try $0.rows("SELECT id, a, n FROM t ORDER BY id") }) {
      #expect(rows.map { $0[0] } == ["1".databaseValue, "2".databaseValue])
      #expect(rows[0] == ["1".databaseValue, "old".databaseValue, 0.databaseValue])
      #expect(rows[1][1] == "old".databaseValue)
    }
  }

  @Test func `an undo takes back the last burst alone`() throws {
    let (device, _) = try pair()
    try device.execute("UPDATE t SET a = 'monday' WHERE id = '1'")
    try age(device, by: day)
    try device.execute("UPDATE t SET b = 'tuesday' WHERE id = '1'")
    _ = try #require(try device.store.undo())
    #expect(
      try device.rows("SELECT a, b FROM t WHERE id = '1'") == [
        ["monday".databaseValue, "old".databaseValue]
      ])
  }
}
