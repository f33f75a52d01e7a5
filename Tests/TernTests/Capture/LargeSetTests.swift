import Foundation
import GRDB
import Synchronization
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, tags TEXT NOT NULL DEFAULT '[]', name)
  """

private func schema(_ deletes: DeleteRule = .deleteWins, version: UInt32 = 1) -> SyncSchema {
  SyncSchema(version: version, tables: [SyncTable("t", merge: ["tags": .set], deletes: deletes)])
}

private func json(_ numbers: some Sequence<Int>) -> String {
  "[" + numbers.map { "\($0)" }.joined(separator: ",") + "]"
}

extension Device {
  fileprivate func set(_ numbers: some Sequence<Int>) throws {
    try execute("UPDATE t SET tags = ? WHERE id = '1'", [json(numbers)])
  }

  /// Of each row the key, the name and how many elements the set has.
  fileprivate var sizes: [String?] {
    get throws {
      try column(
        """
        SELECT id || ' ' || name || ' ' ||
        CASE WHEN json_valid(tags) THEN json_array_length(tags) ELSE tags END FROM t ORDER BY id
        """)
    }
  }
}

/// Takes a file's write lock where nobody has it.
private final class OtherProgram: Sendable {
  private let databases = Mutex<[DatabaseQueue]>([])

  func lock(_ path: String) {
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    let database = try? DatabaseQueue(path: path, configuration: configuration)
    guard let database else { return }
    databases.withLock { $0.append(database) }
    // Refused where the transaction that is looked at goes on.
    try? database.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
  }
}

/// An app can write sets of 10,000 elements, and several devices together sets of more.
@Suite("Capture: sets that devices filled past what an app may write")
struct LargeSetTests {
  /// Two devices that filled one set to 12,000 elements, each within what it may write.
  private func filled(_ deletes: DeleteRule = .deleteWins) throws -> (Device, Device) {
    let (a, b) = try Device.pair(schema(deletes), creation)
    try a.execute("INSERT INTO t VALUES ('1', '[]', 'n')")
    try meet(a, b)
    try a.set(0..<6000)
    try b.set(6000..<12_000)
    try meet(a, b)
    return (a, b)
  }

  private func expectRefused(
    _ device: Device, _ sql: String, _ numbers: some Sequence<Int>,
    location: SourceLocation = #_sourceLocation
  ) throws {
    let before = try device.sizes
    let error = #expect(throws: DatabaseError.self, sourceLocation: location) {
      try device.execute(sql, [json(numbers)])
    }
    #expect(error?.resultCode == .SQLITE_CONSTRAINT, sourceLocation: location)
    #expect(
      error?.message == "tern: the set tags must not grow to more than 10000 elements",
      sourceLocation: location)
    #expect(try device.sizes == before, sourceLocation: location)
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `a set that devices filled together past what one may write is shown`(_ deletes: DeleteRule)
    throws
  {
    let (a, b) = try filled(deletes)
    for device in [a, b] {
      #expect(try device.sizes == ["1 n 12000"])
      #expect(try device.store.counts().quarantined == 0)
    }
    try expectEqual(a, b, "t")
    let c = try Device(schema(deletes), id: 3) { try $0.execute(sql: creation) }
    try c.load(Parts(of: a))
    #expect(try c.sizes == ["1 n 12000"])
    try expectEqual(a, c, "t")
  }

  @Test func `the app can make such a set smaller, step by step, in any way of writing`() throws {
    let (a, b) = try filled()
    try a.set((1..<12_000).reversed())
    try meet(a, b)
    #expect(try a.column("SELECT tags FROM t") == [json(1..<12_000)])
    try a.execute("INSERT OR REPLACE INTO t VALUES ('1', ?, 'r')", [json(2..<12_000)])
    try meet(a, b)
    #expect(try b.sizes == ["1 r 11998"])
    try b.execute(
      "INSERT INTO t VALUES ('1', ?, 'u') ON CONFLICT DO UPDATE SET tags = excluded.tags",
      [json(3..<12_000)])
    try meet(a, b)
    #expect(try a.sizes == ["1 r 11997"])
    try a.set(0..<1)
    try meet(a, b)
    #expect(try b.column("SELECT tags FROM t") == ["[0]"])
    try expectEqual(a, b, "t")
  }

  @Test func `the app can write the rest of such a row, and write the set as it is`() throws {
    let (a, b) = try filled()
    try a.execute("UPDATE t SET name = 'other'")
    try a.execute("UPDATE t SET name = 'saved', tags = tags")
    try meet(a, b)
    try b.execute("INSERT OR REPLACE INTO t SELECT id, tags, 'replaced' FROM t")
    try meet(a, b)
    #expect(try a.sizes == ["1 replaced 12000"])
    try a.execute("UPDATE t SET id = '2'")
    try meet(a, b)
    #expect(try b.sizes == ["2 replaced 12000"])
    try expectEqual(a, b, "t")
  }

  @Test func `the app cannot make a set larger than what it may write`() throws {
    let (a, b) = try filled()
    try expectRefused(a, "UPDATE t SET tags = ?", 0..<12_001)
    try expectRefused(a, "INSERT OR REPLACE INTO t VALUES ('1', ?, 'n')", 0..<12_001)
    try expectRefused(
      a, "INSERT INTO t VALUES ('1', ?, 'n') ON CONFLICT DO UPDATE SET tags = excluded.tags",
      0..<12_001)
    try expectRefused(a, "INSERT INTO t VALUES ('2', ?, 'n')", 0..<10_001)
    try a.execute("INSERT INTO t VALUES ('2', ?, 'n')", [json(0..<10_000)])
    try expectRefused(a, "UPDATE t SET tags = ? WHERE id = '2'", 0..<10_001)
    try expectRefused(a, "INSERT OR REPLACE INTO t VALUES ('2', ?, 'n')", 0..<10_001)
    try meet(a, b)
    #expect(try b.sizes == ["1 n 12000", "2 n 10000"])
    // What Tern may write beyond is of its own writes alone.
    try expectRefused(b, "UPDATE t SET tags = ? WHERE id = '2'", 0..<10_001)
    try expectEqual(a, b, "t")
  }

  @Test func `a value that a migration broke can be replaced by a set, and not by too large a one`()
    throws
  {
    let (a, _) = try filled()
    let broken = try a.upgraded(schema(version: 2), "UPDATE t SET tags = 'broken'")
    try expectRefused(broken, "UPDATE t SET tags = ?", 0..<10_001)
    try broken.set(0..<5)
    #expect(try broken.sizes == ["1 n 5"])
  }

  @Test func `an undo gives such a set back what was taken out, and back its row`() throws {
    let (a, b) = try filled(.updateWins)
    try a.set(1..<12_000)
    #expect(try a.store.undo()?.rows.map(\.action) == [.restored])
    #expect(try a.sizes == ["1 n 12000"])
    try a.commit("DELETE FROM t")
    #expect(try a.store.undo()?.rows.map(\.action) == [.broughtBack])
    try meet(a, b)
    #expect(try b.sizes == ["1 n 12000"])
    try expectRefused(a, "UPDATE t SET tags = ?", 0..<12_001)
    try expectEqual(a, b, "t")
  }

  @Test func `an inbox gives such a row back`() throws {
    let (a, b) = try filled()
    try a.commit("UPDATE t SET name = 'late'")
    try b.commit("DELETE FROM t")
    try meet(a, b)
    let entry = try #require(try a.database.read { try a.replica.inbox(in: $0) }.first)
    try a.store.restore(entry)
    try meet(a, b)
    #expect(try b.sizes.first?.map { $0.hasPrefix("1 late") } == true)
    try expectRefused(a, "INSERT INTO t VALUES ('2', ?, 'n')", 0..<10_001)
    try expectEqual(a, b, "t")
  }

  @Test func `a row that a CHECK refuses is quarantined, whatever its set`() throws {
    let checked = creation.replacing("name)", with: "name CHECK (name <> 'no'))")
    let a = try Device(schema(), id: 1) { try $0.execute(sql: creation) }
    let b = try Device(schema(), id: 2) { try $0.execute(sql: checked) }
    try a.execute("INSERT INTO t VALUES ('1', ?, 'no')", [json(0..<3)])
    try meet(a, b)
    #expect(try b.sizes == [])
    #expect(try b.store.counts().quarantined == 1)
    try expectRefused(b, "INSERT INTO t VALUES ('2', ?, 'n')", 0..<10_001)
  }

  @Test func `a row that an older Tern quarantined for its set is shown after the update`() throws {
    let (a, b) = try Device.pair(schema(), creation)
    try a.execute("INSERT INTO t VALUES ('1', '[]', 'n')")
    try meet(a, b)
    for event in ["INSERT", "UPDATE"] {
      try a.execute(
        """
        CREATE TRIGGER grdb_tern_main_older_\(event) AFTER \(event) ON t BEGIN
          SELECT RAISE(ABORT, 'tern: older') WHERE json_array_length(NEW.tags) > 10000; END
        """)
    }
    try a.set(0..<6000)
    try b.set(6000..<12_000)
    try meet(a, b)
    #expect(try a.sizes == [])
    let updated = try Device(a.database, schema(), id: 99)
    try b.commit("INSERT INTO t VALUES ('2', '[]', 'n')")
    try meet(updated, b)
    #expect(try updated.sizes == ["1 n 12000", "2 n 0"])
    try expectEqual(updated, b, "t")
  }

  @Test func `writes beyond what an operation holds of a set are one change that peers take`()
    throws
  {
    let (a, b) = try Device.pair(schema(), creation)
    try a.execute("INSERT INTO t VALUES ('1', '[]', 'n')")
    try meet(a, b)
    // A migration can write more than an app.
    let filled = try a.upgraded(
      schema(),
      """
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 100002)
      UPDATE t SET tags = (SELECT json_group_array(i) FROM n)
      """)
    for _ in 1...2 { try filled.execute("UPDATE t SET tags = json_remove(tags, '$[#-1]')") }
    try meet(filled, b)
    for device in [filled, b] { #expect(try device.sizes == ["1 n 100000"]) }
    try expectHealthy(filled)
  }

  @Test func `a table with such a set can stop syncing and begin again`() throws {
    let (a, _) = try filled()
    let without = try a.upgraded(SyncSchema(version: 2, tables: []))
    #expect(try without.sizes == ["1 n 12000"])
    let again = try a.upgraded(schema(version: 3))
    #expect(try again.sizes == ["1 n 12000"])
    try expectHealthy(again)
  }

  @Test func `a row whose trigger ends the transaction leaves the lock to whoever wants it`() throws
  {
    let folder = FileManager.default.temporaryDirectory.appending(path: "tern-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "app.sqlite").path
    let other = OtherProgram()
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      db.trace { event in
        let sql = "\(event)"
        if sql.hasPrefix("DELETE"), sql.contains("WHERE rowid = -1") { other.lock(path) }
      }
    }
    // Older than Tern's triggers, and so behind them.
    let strict = """
      CREATE TRIGGER strict AFTER UPDATE ON t WHEN json_array_length(NEW.tags) > 10000 BEGIN
        SELECT RAISE(ROLLBACK, 'too many'); END
      """
    let a = try Device(
      schema(), id: 1, database: DatabaseQueue(path: path, configuration: configuration)
    ) { try $0.execute(sql: "\(creation); \(strict)") }
    let b = try Device(schema(), id: 2) { try $0.execute(sql: creation) }
    try a.execute("INSERT INTO t VALUES ('1', '[]', 'n')")
    try meet(a, b)
    try a.set(0..<6000)
    try b.set(6000..<12_000)
    try meet(a, b)
    // Without that update; the insert that shows the row in its place is none of the trigger's.
    for device in [a, b] { #expect(try device.sizes == ["1 n 12000"]) }
    try expectEqual(a, b, "t")
    try expectRefused(a, "INSERT INTO t VALUES ('2', ?, 'n')", 0..<10_001)
  }
}
