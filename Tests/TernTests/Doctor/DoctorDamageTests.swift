import Foundation
import GRDB
import Tern
import TestDevice
import Testing

/// Each test breaks one thing in a file, and sees that and nothing else.
@Suite("Doctor: every kind of damage to a replica's file")
struct DoctorDamageTests {
  static let damages: [(sql: String, found: [String])] = [
    // Capture.
    ("DROP TRIGGER grdb_tern_main_insert_2", ["trigger-missing"]),
    (
      """
      DROP TRIGGER grdb_tern_main_delete_3;
      CREATE TRIGGER grdb_tern_main_delete_3 AFTER DELETE ON tag BEGIN SELECT 1; END
      """, ["trigger-stale"]
    ),
    (
      "CREATE TRIGGER grdb_tern_main_old_9 AFTER DELETE ON tag BEGIN SELECT 1; END",
      ["trigger-left"]
    ),
    ("DROP TABLE tag", ["table-gone"]),
    ("INSERT INTO grdb_tern_main_column VALUES (3, 1, 'ghost', 0, 1)", ["column-gone"]),
    ("UPDATE grdb_tern_main_table SET key = 'other' WHERE id = 3", ["table-changed"]),
    ("UPDATE grdb_tern_main_column SET id = 9 WHERE tbl = 3", ["catalogue"]),
    ("INSERT INTO grdb_tern_main_splice VALUES (1, 2, 5, x'FF', x'FF')", ["splice"]),
    // A replica's own tables.
    ("DROP TABLE grdb_tern_main_unsettled", ["store-table"]),
    ("ALTER TABLE grdb_tern_main_row_3 ADD COLUMN more", ["store-table"]),
    ("UPDATE grdb_tern_main_author SET stored = 'many' WHERE idx = 1", ["store-table"]),
    ("UPDATE grdb_tern_main_row_2 SET cells = 'text' WHERE k0 = '1'", ["store-table"]),
    ("UPDATE grdb_tern_main_replica SET schema_version = -1", ["catalogue"]),
    ("INSERT INTO grdb_tern_main_fork VALUES ('r', 99, 1)", ["authors"]),
    ("UPDATE grdb_tern_main_replica SET format = 99", ["newer-format"]),
    ("UPDATE grdb_tern_main_replica SET format = 1", ["older-format"]),
    ("UPDATE grdb_tern_main_column SET rule = 99 WHERE tbl = 3", ["newer-format"]),
    (
      "UPDATE grdb_tern_main_replica SET id = x'00000000000000000000000000000009'", ["identity"]
    ),
    ("UPDATE grdb_tern_main_replica SET last_time = 1", ["clock"]),
    ("UPDATE grdb_tern_main_author SET merged = stored + 1 WHERE idx = 1", ["authors"]),
    ("UPDATE grdb_tern_main_author SET idx = 7 WHERE idx = 1", ["authors"]),
    ("INSERT INTO grdb_tern_main_seen VALUES (9, 0, 1)", ["authors"]),
    ("INSERT INTO grdb_tern_main_offer VALUES ('r', 99, 0)", ["copied"]),
    ("INSERT INTO grdb_tern_main_remote_head VALUES ('r', 0, 99)", ["copied"]),
    (
      """
      UPDATE grdb_tern_main_remote SET cursor = 'folder1,00000000000000000000000000000002:9'
      """, ["cursor"]
    ),
    (
      "INSERT INTO grdb_tern_main_inbox VALUES (1, 2, x'FF', 'lastWriter', x'', 0, 1, 0, 1, 0)",
      ["inbox"]
    ),
    // The log.
    ("DELETE FROM grdb_tern_main_log WHERE id = 1", ["log-gap"]),
    ("DELETE FROM grdb_tern_main_log WHERE id = 2", ["log-gap"]),
    ("INSERT INTO grdb_tern_main_log VALUES (99, x'00')", ["log-beyond"]),
    ("INSERT INTO grdb_tern_main_log VALUES (-5, x'00')", ["log-beyond"]),
    ("INSERT INTO grdb_tern_main_log VALUES ((9 << 40) + 1, x'00')", ["log-beyond"]),
    ("UPDATE grdb_tern_main_log SET bytes = x'FF' WHERE id = 1", ["log-damaged"]),
    (
      "UPDATE grdb_tern_main_author SET merged = 0, announced = 0 WHERE idx = 1", ["log-group"]
    ),
    // What waits.
    ("DROP TABLE grdb_tern_main_waiting", ["store-table"]),
    (
      "INSERT INTO grdb_tern_main_waiting VALUES (77, '', '', 70, 'unreadable', 'why', NULL)",
      ["waiting-lost"]
    ),
    (
      "INSERT INTO grdb_tern_main_waiting VALUES ((1 << 40) + 50, 'magazine', '', 50, 'schema', '', NULL)",
      ["waiting-lost"]
    ),
    (
      "INSERT INTO grdb_tern_main_waiting VALUES (1, 'book', 'title', 1, 'schema', '', NULL)",
      ["waiting-known"]
    ),
    // The state.
    ("UPDATE grdb_tern_main_row_2 SET cells = x'FF' WHERE k0 = '1'", ["state-damaged"]),
    ("UPDATE grdb_tern_main_row_2 SET life = -1 WHERE k0 = '1'", ["state-damaged"]),
    ("UPDATE grdb_tern_main_row_3 SET covered = 1", ["state-form"]),
    (
      "UPDATE grdb_tern_main_row_2 SET cells = CAST(cells || cells AS BLOB) WHERE k0 = '1'",
      ["state-form"]
    ),
    ("UPDATE grdb_tern_main_row_1 SET time = time + (1 << 40) WHERE k0 = 's'", ["state-ahead"]),
    ("UPDATE grdb_tern_main_row_1 SET author = 9 WHERE k0 = 's'", ["state-ahead"]),
    // The state and the log.
    ("UPDATE grdb_tern_main_row_1 SET time = time - (1 << 30) WHERE k0 = 't'", ["state-replay"]),
    ("UPDATE grdb_tern_main_row_3 SET time = time - 1 WHERE k0 = 'x'", ["state-replay"]),
    ("DELETE FROM grdb_tern_main_row_3 WHERE k0 = 'x'", ["state-replay"]),
    (
      "DELETE FROM grdb_tern_main_row_1 WHERE k0 = 't'; DELETE FROM shelf WHERE id = 't'",
      ["state-replay"]
    ),
    (
      """
      INSERT INTO grdb_tern_main_row_1 SELECT 'u', life, time, author, covered, cells
        FROM grdb_tern_main_row_1 WHERE k0 = 't';
      INSERT INTO shelf VALUES ('u', 'made up')
      """, ["state-replay"]
    ),
    // The tables.
    ("DELETE FROM book WHERE id = '1'", ["row-missing"]),
    ("INSERT INTO tag VALUES ('x', 'again')", ["row-unwanted"]),
    ("INSERT INTO tag VALUES ('new', 'unseen')", ["row-unsynced"]),
    ("UPDATE book SET scans = 99", ["column-differs"]),
    ("UPDATE book SET best = NULL", ["column-differs"]),
    ("UPDATE book SET tags = '[]'", ["column-differs"]),
    ("UPDATE book SET body = 'Giedi Prime'", ["column-differs"]),
    ("UPDATE shelf SET name = 'cellar' WHERE id = 't'", ["written-differs"]),
    ("INSERT INTO grdb_tern_main_held VALUES (3, x'0D78', 'parent', x'')", ["held-stray"]),
    ("INSERT INTO grdb_tern_main_held VALUES (3, x'FF', 'parent', x'')", ["held-stray"]),
    ("INSERT INTO grdb_tern_main_held VALUES (3, x'0D79', 'parent', x'')", ["held-stray"]),
    ("INSERT INTO grdb_tern_main_kept VALUES (1, x'0D73', x'')", ["kept-stray"]),
    (
      "CREATE TABLE child (shelf REFERENCES shelf); INSERT INTO child VALUES ('nowhere')",
      ["sqlite-references"]
    ),
    (
      """
      CREATE TABLE other (a, b); INSERT INTO other VALUES (1, 2);
      CREATE INDEX extra ON other (a); PRAGMA writable_schema = ON;
      UPDATE sqlite_master SET sql = 'CREATE INDEX extra ON other (b)' WHERE name = 'extra'
      """, ["sqlite-integrity"]
    ),
    (
      """
      CREATE TABLE kept (id TEXT NOT NULL PRIMARY KEY, title TEXT) WITHOUT ROWID;
      INSERT INTO kept VALUES ('a', NULL); PRAGMA writable_schema = ON;
      UPDATE sqlite_master SET sql = replace(sql, 'title TEXT', 'title TEXT NOT NULL') WHERE name = 'kept'
      """, ["sqlite-integrity"]
    ),
  ]

  /// SQLite 3.40.1 says "NULL value in note.title" of each.
  @Test func `what SQLite wrongly says of tables WITHOUT ROWID is not told`() throws {
    let patient = try Patient()
    try patient.fill()
    try patient.harm(
      """
      CREATE TABLE note (title TEXT NOT NULL, tag TEXT, id TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;
      WITH RECURSIVE numbers (value) AS
        (SELECT 1 UNION ALL SELECT value + 1 FROM numbers WHERE value < 200)
      INSERT INTO note SELECT 'a title', NULL, value FROM numbers
      """)
    #expect(try patient.diagnosis().findings.map { "\($0)" } == [])
    // And it hides nothing else.
    try patient.harm(
      """
      CREATE TABLE other (a, b); INSERT INTO other VALUES (1, 2);
      CREATE INDEX extra ON other (a); PRAGMA writable_schema = ON;
      UPDATE sqlite_master SET sql = 'CREATE INDEX extra ON other (b)' WHERE name = 'extra'
      """)
    let findings = try patient.diagnosis().findings
    #expect(!findings.isEmpty && findings.allSatisfy { !"\($0)".contains("note.title") })
  }

  @Test(arguments: damages.indices)
  func `damage is found by its name, and nothing else is`(_ index: Int) throws {
    let patient = try Patient()
    try patient.fill()
    #expect(try patient.diagnosis().findings.map { "\($0)" } == [])
    let (sql, found) = Self.damages[index]
    try patient.harm(sql)
    let diagnosis = try patient.diagnosis()
    #expect(Set(diagnosis.findings.map(\.check)) == Set(found), "\(sql): \(diagnosis.findings)")
    #expect(!diagnosis.isHealthy)
    for finding in diagnosis.findings {
      #expect(!finding.remedy.isEmpty)
      #expect(finding.place.replica == "main" || found[0].hasPrefix("sqlite"))
    }
  }

  // MARK: - Operations

  private func rewrite(_ id: Int64, _ change: (SyncOperation) -> SyncOperation) throws -> Patient {
    let patient = try Patient()
    try patient.fill()
    try patient.device.database.write { db in
      let table = "grdb_tern_main_log"
      let bytes = try Data.fetchOne(
        db, sql: "SELECT bytes FROM \(table) WHERE id = ?", arguments: [id])
      let operation = try SyncOperation(bytes: Array(#require(bytes)))
      try db.execute(
        sql: "UPDATE \(table) SET bytes = ? WHERE id = ?",
        arguments: [Data(change(operation).bytes), id])
    }
    return patient
  }

  private static func edited(
    _ operation: SyncOperation, body: [UInt8]? = nil,
    _ edit: (inout SyncOperation.Envelope) -> Void
  ) -> SyncOperation {
    var envelope = operation.envelope
    edit(&envelope)
    return SyncOperation(envelope, body: body ?? Array(operation.bytes[operation.bodyOffset...]))
  }

  @Test func `an operation under another's number is found`() throws {
    let patient = try rewrite(1) { operation in
      Self.edited(operation) { $0.replica = ReplicaID(high: 0, low: 77) }
    }
    #expect(try patient.findings() == ["log-mismatch"])
  }

  @Test func `a time that is not later than the one before is found`() throws {
    let patient = try rewrite(1) { operation in
      operation.restamped(
        HybridTime(milliseconds: operation.envelope.time.milliseconds + 86_400_000))
    }
    #expect(try patient.findings() == ["log-time"])
  }

  @Test func `a group whose rest is not here is found`() throws {
    let patient = try rewrite((1 << 40) + 1) { Self.edited($0) { $0.continues = true } }
    #expect(try patient.findings() == ["log-group"])
  }

  @Test func `a body that cannot be read and is not put aside is found`() throws {
    let patient = try rewrite((1 << 40) + 1) { Self.edited($0, body: [0xFF]) { _ in } }
    #expect(try patient.findings() == ["log-body"])
  }

  @Test func `a body that says something else than was merged is found`() throws {
    let patient = try rewrite((1 << 40) + 1) { operation in
      var body = ByteWriter()
      body.append(
        block: BodyBlock(
          table: "book", keyColumns: ["id"], columns: [.init(name: "scans", rule: 1)]))
      body.append(row: .insert, life: 1)
      for value: SQLiteValue in ["1", 4] { body.append(value) }
      body.appendEndOfBlock()
      return Self.edited(operation, body: body.bytes) { _ in }
    }
    let findings = try patient.diagnosis().findings
    #expect(Set(findings.map(\.check)) == ["state-replay"], "\(findings)")
    #expect(findings.contains { $0.place.table == "book" && $0.place.key == "'1'" })
    #expect(findings.allSatisfy { $0.invariant == .convergence && !$0.remedy.isEmpty })
  }

  @Test func `a state is not compared with a log that was trimmed`() throws {
    let patient = try Patient()
    try patient.fill()
    let store = try Device(
      patient.device.database, Patient.schema, id: 1, logRetention: .seconds(-60)
    ).store
    try store.trim(heldBy: store.versionVector(), at: "peer")
    #expect(try store.hasTrimmed(lackedBy: VersionVector()))
    try patient.harm("DELETE FROM grdb_tern_main_row_3 WHERE k0 = 'x'")
    let findings = try patient.diagnosis().findings
    #expect(!findings.contains { $0.check == "state-replay" }, "\(findings)")
  }

  @Test func `a table that two replicas sync is found`() throws {
    let patient = try Patient()
    try patient.fill()
    try patient.device.execute("CREATE TABLE other (id TEXT NOT NULL PRIMARY KEY)")
    _ = try Device(
      patient.device.database, SyncSchema(version: 1, tables: [SyncTable("other")]), id: 8,
      name: "work")
    #expect(try patient.findings() == [])
    try patient.harm("INSERT INTO grdb_tern_work_table VALUES (7, 'tag', 'id', 0, 1)")
    let shared = try patient.diagnosis().findings.filter { $0.check == "shared-table" }
    #expect(shared.map(\.place.table) == ["tag"])
    #expect(shared.map(\.place.replica) == ["work"])
  }

  @Test func `so many of a kind are named, and all are counted`() throws {
    let patient = try Patient()
    try patient.harm(
      """
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50)
      INSERT INTO tag SELECT 'k' || i, NULL FROM n
      """)
    let diagnosis = try DatabaseDiagnosis(path: patient.path, limit: 3)
    #expect(diagnosis.findings.count == 3)
    #expect(diagnosis.counts == ["row-unsynced": 50])
  }
}
