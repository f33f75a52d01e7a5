#if PostgreSQL
import Foundation
import Tern
import Testing

@testable import TernServer

/// Each test breaks one thing in a database, and sees that and nothing else.
@Suite(
  "Doctor: a store on PostgreSQL",
  .enabled(if: TestDatabase.address != nil, "script/test starts a database"),
  .timeLimit(.minutes(2)))
struct PostgreSQLDoctorTests {
  private static let home = "(SELECT id FROM tern.space WHERE name = 'home')"
  private static let work = "(SELECT id FROM tern.space WHERE name = 'work')"
  private static func hex(_ replica: ReplicaID) -> String { "'\\x\(replica)'::bytea" }
  private static let (ada, bob, eve) = (
    hex(ServerPatient.ada), hex(ServerPatient.bob), hex(ServerPatient.eve)
  )
  private static let newest = "space = \(home) AND is_complete = 1 AND position = 8"

  /// A database with the spaces of a server's file that went through all that a server does.
  private func patient() throws -> TestDatabase {
    let database = try TestDatabase()
    let file = try ServerPatient()
    let store = try database.open(seed: 7)
    for space in [SpaceName.home, .work] {
      try SpaceMove(space, from: file.store, to: store).run()
    }
    store.close()
    return database
  }

  private func diagnosis(_ database: TestDatabase) throws -> DatabaseDiagnosis {
    let address = try #require(TestDatabase.address)
    return try DatabaseDiagnosis(of: "test") {
      try PostgreSQLDoctor(address, schema: database.schema, findings: $0).run()
    }
  }

  /// What is damaged is no one's to count afterwards.
  private func empty(_ database: TestDatabase) throws {
    try database.run("DROP SCHEMA \"\(database.schema)\" CASCADE")
  }

  static let damages: [(sql: String, found: [String])] = [
    // The store.
    ("UPDATE tern.store SET format = 2", ["newer-format"]),
    ("UPDATE tern.store SET format = 0", ["server-format"]),
    ("DELETE FROM tern.store", ["epoch"]),
    ("UPDATE tern.store SET epoch = 'x'", ["epoch"]),
    ("UPDATE tern.token SET digest = '\\x00' WHERE space = \(work)", ["token"]),
    ("UPDATE tern.space SET name = 'no name' WHERE name = 'home'", ["space"]),
    ("UPDATE tern.space SET epoch = 'x' WHERE name = 'work'", ["epoch", "snapshot-cursor"]),
    ("UPDATE tern.space SET trimmed = 99 WHERE name = 'home'", ["space"]),
    ("UPDATE tern.space SET emptied = -1 WHERE name = 'work'", ["number"]),
    ("UPDATE tern.space SET phase = 9 WHERE name = 'work'", ["number"]),
    ("UPDATE tern.space SET bytes = bytes + 1 WHERE name = 'work'", ["space-bytes"]),
    ("UPDATE tern.space SET kept_bytes = 1 WHERE name = 'home'", ["space-bytes"]),
    // Positions and operations.
    ("DELETE FROM tern.operation WHERE space = \(home) AND position = 1", ["position-gap"]),
    ("UPDATE tern.space SET position = 10 WHERE name = 'home'", ["position-gap"]),
    (
      """
      WITH added AS (
        INSERT INTO tern.operation SELECT space, 4503599627370496, author, 77, digest, chain
        FROM tern.operation WHERE space = \(home) AND position = 7)
      INSERT INTO tern.operation_bytes SELECT space, 4503599627370496, bytes
      FROM tern.operation_bytes WHERE space = \(home) AND position = 7
      """, ["position-beyond"]
    ),
    (
      "UPDATE tern.operation SET digest = '\\x00' WHERE space = \(home) AND position = 7",
      ["operation-digest"]
    ),
    ("UPDATE tern.operation SET chain = '\\x00' WHERE position = 7", ["operation-chain"]),
    ("UPDATE tern.operation_bytes SET bytes = '\\x01' WHERE position = 7", ["operation-digest"]),
    ("DELETE FROM tern.operation_bytes WHERE position = 7", ["operation-lost"]),
    ("INSERT INTO tern.operation_bytes VALUES (99, 1, '\\x01')", ["operation-left"]),
    (
      """
      INSERT INTO tern.operation SELECT 99, position, author, sequence, digest, chain
      FROM tern.operation WHERE space = \(home) AND position = 7
      """, ["operation-left"]
    ),
    (
      "INSERT INTO tern.operation_bytes VALUES (\(home), 2, '\\x01')", ["operation-left"]
    ),
    (
      "INSERT INTO tern.operation_bytes VALUES (\(home), 77, '\\x01')", ["operation-left"]
    ),
    ("UPDATE tern.operation SET author = \(eve) WHERE position = 7", ["operation-mismatch"]),
    ("UPDATE tern.operation SET author = '\\x09' WHERE position = 7", ["operation-mismatch"]),
    ("UPDATE tern.operation SET sequence = 77 WHERE position = 7", ["operation-mismatch"]),
    (
      "UPDATE tern.operation SET sequence = 77 WHERE space = \(home) AND position = 3",
      ["operation-gap"]
    ),
    ("UPDATE tern.operation SET sequence = -5 WHERE space = \(work) AND position = 1", ["base"]),
    // Heads and authors.
    ("UPDATE tern.head SET sequence = 0 WHERE space = \(home) AND author = \(bob)", ["head"]),
    ("UPDATE tern.head SET time = 1 WHERE space = \(home)", ["head"]),
    ("DELETE FROM tern.head WHERE space = \(home) AND author = \(bob)", ["head"]),
    ("UPDATE tern.head SET bytes = bytes + 1 WHERE space = \(work)", ["space-bytes"]),
    (
      """
      INSERT INTO tern.author (space, replica, brought_first) VALUES (\(home), \(ada), 4)
      ON CONFLICT (space, replica) DO UPDATE SET brought_first = 4, brought_last = NULL
      """, ["author"]
    ),
    // Snapshots.
    (
      "UPDATE tern.snapshot SET name = NULL WHERE space = \(home) AND is_complete = 1",
      ["trimmed-lost"]
    ),
    ("UPDATE tern.snapshot SET cursor = 'x' WHERE \(newest)", ["snapshot-cursor"]),
    ("UPDATE tern.snapshot SET heads = '\\x00' WHERE \(newest)", ["snapshot-heads"]),
    ("UPDATE tern.snapshot SET schema = 'x' WHERE \(newest)", ["snapshot-schema"]),
    ("UPDATE tern.snapshot_part SET bytes = '\\x00' WHERE part = 1", ["snapshot-part"]),
    ("UPDATE tern.snapshot_part SET part = 9 WHERE part = 0", ["snapshot-part"]),
    ("UPDATE tern.snapshot SET parts = parts + 1 WHERE \(newest)", ["snapshot-part"]),
    // The horizon.
    ("UPDATE tern.lease SET position = 99 WHERE space = \(home)", ["lease"]),
    ("INSERT INTO tern.trim_mark VALUES (\(home), 9, 0)", ["mark"]),
    ("INSERT INTO tern.mark VALUES (\(home), 99, 0)", ["mark"]),
    ("UPDATE tern.state SET report = '\\x00'", ["state-report"]),
  ]

  private static let tables = [
    "store", "space", "operation", "operation_bytes", "head", "token", "snapshot",
    "snapshot_part", "lease", "mark", "trim_mark", "state", "author",
  ]

  /// Puts back what was there before a damage.
  private func restore(_ database: TestDatabase) throws {
    let all = Self.tables.map { "tern.\($0)" }.joined(separator: ", ")
    try database.run("TRUNCATE \(all)")
    for table in Self.tables {
      try database.run(
        "INSERT INTO tern.\(table) OVERRIDING SYSTEM VALUE SELECT * FROM tern.kept_\(table)")
    }
  }

  @Test func `damage is found by its name, and nothing else is`() throws {
    let database = try patient()
    for table in Self.tables {
      try database.run("CREATE TABLE tern.kept_\(table) AS SELECT * FROM tern.\(table)")
    }
    for (sql, found) in Self.damages {
      try database.run(sql)
      let diagnosis = try diagnosis(database)
      #expect(Set(diagnosis.findings.map(\.check)) == Set(found), "\(sql)")
      // A finding of a space names it.
      let ofStore: Set = ["newer-format", "server-format", "token", "epoch"]
      for finding in diagnosis.findings where !ofStore.contains(finding.check) {
        #expect(finding.place.space != nil, "\(sql)")
      }
      try restore(database)
    }
    #expect(try diagnosis(database).isHealthy)
  }

  @Test(arguments: [
    "DROP TABLE tern.mark", "ALTER TABLE tern.lease RENAME COLUMN at_ms TO since",
    "ALTER TABLE tern.space DROP COLUMN peer",
  ])
  func `tables that are not as they should be`(_ sql: String) throws {
    let database = try TestDatabase()
    try database.open().close()
    try database.run(sql)
    #expect(try diagnosis(database).findings.map(\.check) == ["server-table"])
    try empty(database)
  }

  @Test func `what waits is a remark, and nothing is changed`() throws {
    let database = try patient()
    let tables = ["space", "operation", "operation_bytes", "snapshot", "head", "token", "lease"]
    func versions() throws -> [String] {
      try tables.flatMap { table in
        try database.run("SELECT ctid::text || xmin::text FROM tern.\(table) ORDER BY 1")
          .map { $0.text(0) ?? "" }
      }
    }
    let before = try versions()
    let found = try diagnosis(database)
    #expect(found.isHealthy)
    #expect(Set(found.remarks.map(\.check)) == ["group-open", "snapshot-upload"])
    #expect(try versions() == before)
    try database.run("UPDATE tern.space SET phase = 2 WHERE name = 'home'")
    #expect(try diagnosis(database).remarks.map(\.check).contains("space-moving"))
    let store = try database.open()
    _ = try store.removeSpace(.home)
    _ = try store.removeSpace(.work)
    #expect(Set(try diagnosis(database).remarks.map(\.check)) == ["space-removed"])
    while try store.removeRemains(rows: 1_000, contentBytes: 1 << 30) {}
    #expect(try diagnosis(database).remarks == [])
  }

  @Test func `several pages of operations are read, and several spaces`() throws {
    let database = try TestDatabase()
    let store = try database.open()
    let service = SpaceService(store: store, clock: HandClock().clock)
    var ada = Author(1)
    for space in [SpaceName.home, .work] {
      _ = try service.push(ada.write(count: 1_300), to: space)
      ada = Author(2)
    }
    #expect(try diagnosis(database).findings == [])
    try database.run("UPDATE tern.operation SET chain = '\\x00' WHERE position = 1200")
    let found = try diagnosis(database).findings
    #expect(Set(found.map(\.place.space)) == ["home", "work"])
    #expect(Set(found.map(\.check)) == ["operation-chain"])
  }

  @Test func `a schema without a store is named, and nothing is made in it`() throws {
    let database = try TestDatabase()
    let error = #expect(throws: StoreError.self) { try diagnosis(database) }
    #expect(error?.code == .notServerFile && error?.message.contains("--schema") ?? false)
    let made = try database.run(
      "SELECT 1::bigint FROM pg_namespace WHERE nspname = '\(database.schema)'")
    #expect(made.count == 0)
  }

  @Test func `the command says what it finds, and by its exit status`() throws {
    let database = try patient()
    let address = try #require(TestDatabase.address)
    let doctor = ["doctor", address, "--schema", database.schema]
    let healthy = try TernProcess.run(doctor)
    #expect(healthy.code == 0 && healthy.output.contains("nothing is broken"))
    try database.run("UPDATE tern.space SET bytes = bytes + 1 WHERE name = 'work'")
    let broken = try TernProcess.run(doctor + ["--json"])
    #expect(broken.code == 1 && broken.output.contains("space-bytes"))
    try empty(database)
    let absent = try TernProcess.run(doctor)
    #expect(absent.code == 2 && absent.errors.contains("--schema"))
    let refused = try TernProcess.run("doctor", "postgresql://tern:secret@127.0.0.1/tern")
    #expect(refused.code == 64 && !refused.errors.contains("secret"))
  }
}
#endif
