import GRDB
import TernTesting
import TestDevice
import Testing

@testable import Tern

private let schema = SyncSchema(version: 1, tables: [SyncTable("book")])
/// One that both mirrors and touches, and one that mirrors alone.
private let creation = """
  CREATE TABLE book (id TEXT NOT NULL PRIMARY KEY, title TEXT, rev INTEGER DEFAULT 0);
  CREATE TABLE seen (id TEXT);
  CREATE TRIGGER both AFTER INSERT ON book BEGIN
    INSERT INTO seen VALUES (NEW.id);
    UPDATE book SET rev = 1 WHERE id = NEW.id;
  END;
  CREATE TRIGGER seeing AFTER UPDATE ON book BEGIN INSERT INTO seen VALUES (NEW.id); END;
  """
private let both = SkippedTrigger(
  name: "both", table: "book", reason: "it sets “rev” of “book”, which syncs")

@Suite("Triggers: the status names those that don't run in merges")
struct SkippedTriggerTests {
  private func skipped(_ device: Device) throws -> [SkippedTrigger] {
    try device.store.counts().skippedTriggers
  }

  @Test func `one that mirrors and is unsafe is opened with, and named before and after a merge`()
    throws
  {
    let (a, b) = try Device.pair(schema, creation)
    #expect(try skipped(b) == [both])
    try a.execute("INSERT INTO book (id) VALUES ('1')")
    try meet(a, b)
    #expect(try b.column("SELECT id FROM seen") == [])
    #expect(try skipped(b) == [both])
    let doctor = try b.database.read { try DatabaseDiagnosis($0) }.remarks
    #expect(doctor.map(\.check) == ["trigger-skipped"])
  }

  @Test func `one that comes or goes while the replica is open is named, or no longer`() throws {
    let (a, b) = try Device.pair(schema, creation)
    #expect(try skipped(b) == [both])
    try b.execute("DROP TRIGGER both")
    #expect(try skipped(b) == [])
    try a.execute("INSERT INTO book (id) VALUES ('1')")
    try meet(a, b)
    #expect(try skipped(b) == [])
    try b.execute(
      """
      CREATE TRIGGER strict BEFORE UPDATE ON book BEGIN SELECT RAISE(ABORT, 'no'); END
      """)
    #expect(try skipped(b).map(\.name) == ["strict"])
  }

  @Test func `a temporary one is named once a merge has gone without it`() throws {
    let (a, b) = try Device.pair(schema, creation)
    try b.execute(
      """
      CREATE TEMP TRIGGER passing AFTER INSERT ON book BEGIN
        UPDATE book SET title = 'x' WHERE id = NEW.id;
      END
      """)
    try a.execute("INSERT INTO book (id) VALUES ('1')")
    try meet(a, b)
    #expect(try skipped(b).map(\.name) == ["both", "passing"])
  }

  @Test func `an engine's status names it after its first sync`() async throws {
    let (a, _) = try Device.pair(schema, creation)
    let engine = SyncEngine(a.replica, remote: MemoryRemote())
    try await engine.syncOnce()
    #expect(engine.status.current.skippedTriggers == [both])
  }

  @Test func `they are read once for each schema of the file, and a merge's reading counts`() throws
  {
    let known = KnownTriggers()
    var reads = 0
    func read() -> AppTriggers {
      reads += 1
      return AppTriggers()
    }
    try DatabaseQueue().write { db in
      for _ in 0..<3 { #expect(try known.skipped(db, or: read) == []) }
      #expect(reads == 1)
      // As a merge does that goes without some.
      try db.execute(sql: "CREATE TEMP TABLE passing (id); DROP TABLE passing")
      _ = try known.skipped(db, or: read)
      #expect(reads == 1)
      try db.execute(sql: "CREATE TABLE book (id)")
      _ = try known.triggers(db, or: read)
      _ = try known.skipped(db, or: read)
      #expect(reads == 2)
    }
  }
}
