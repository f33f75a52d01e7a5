import Foundation
import GRDB
import Tern
import TestDevice
import Testing

@Suite("Inspection: what a replica's file tells")
struct InspectionTests {
  private static let schema = SyncSchema(
    version: 3, tables: [SyncTable("shelf"), SyncTable("book", merge: ["scans": .counter])])

  private static func migrate(_ db: Database) throws {
    try db.execute(
      sql: """
        CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY);
        CREATE TABLE book (
          isbn TEXT NOT NULL PRIMARY KEY, scans INTEGER NOT NULL DEFAULT 0,
          shelf TEXT REFERENCES shelf (id) ON DELETE CASCADE);
        """)
  }

  private func inFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "tern-inspection-\(ProcessInfo.processInfo.globallyUniqueString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder.path)
  }

  @Test func `an operation that cannot be read is named with its reason`() throws {
    try inFolder { folder in
      let path = folder + "/a.sqlite"
      let a = try Device(Self.schema, id: 1, migrate: Self.migrate)
      let b = try Device(
        Self.schema, id: 2, database: DatabaseQueue(path: path), migrate: Self.migrate)
      try a.execute("INSERT INTO shelf VALUES ('s')")
      try a.store.seal()
      try b.merge(a.operationsWithBadEnd().all)
      let replica = try #require(try DatabaseFileInspection(path: path).replicas.first)
      let expected = try #require(try b.store.counts().pending.first)
      #expect(replica.pendingOperations == [expected])
      #expect(replica.pending.counts == [.unreadable: 1] && replica.pending.first == expected)
      #expect(expected.replica == ReplicaID(high: 0, low: 1) && expected.sequence == 1)
      #expect(!expected.detail.isEmpty)
      // A damaged row that names nobody is counted, and ends nothing.
      try b.execute(
        """
        DELETE FROM grdb_tern_main_waiting;
        INSERT INTO grdb_tern_main_waiting VALUES
          ((77 << 40) + 1, '', '', 1, 'unreadable', '', NULL), (-5, '', '', 1, 'clock', '', NULL)
        """)
      for waiting in [
        try b.store.counts().pending,
        try #require(try DatabaseFileInspection(path: path).replicas.first).pending,
      ] {
        #expect(waiting.count == 2 && waiting.first == nil)
      }
    }
  }

  private func failure(_ path: String) -> InspectionError.Code? {
    do {
      _ = try DatabaseFileInspection(path: path)
      return nil
    } catch {
      return (error as? InspectionError)?.code
    }
  }

  @Test func `a replica's file tells what is in it`() throws {
    try inFolder { folder in
      let path = folder + "/a file?.sqlite"
      let device = try Device(
        Self.schema, id: 1, database: DatabasePool(path: path), migrate: Self.migrate)
      let other = try Device(Self.schema, id: 2, migrate: Self.migrate)
      try other.execute("INSERT INTO book (isbn, scans) VALUES ('1', 5), ('2', 1)")
      try device.execute("INSERT INTO book (isbn, scans) VALUES ('1', 2), ('3', 1)")
      try meet(device, other)
      try device.execute("DELETE FROM book WHERE isbn = '3'")
      try device.store.seal()
      try device.execute("INSERT INTO shelf VALUES ('hall')")

      let inspection = try DatabaseFileInspection(path: path)
      let replica = try #require(inspection.replicas.first)
      #expect(inspection.replicas.count == 1)
      #expect(inspection.sizes.database > 0)
      #expect(inspection.sizes.writeAheadLog > 0)
      #expect(replica.name == "main")
      #expect(replica.id == ReplicaID(high: 0, low: 1))
      #expect(replica.schemaVersion == 3)
      #expect(replica.authors.map(\.stored) == [2, 1])
      #expect(replica.authors.map(\.merged) == [2, 1])
      #expect(replica.log.operations == 3)
      #expect(replica.log.bytes > 0)
      #expect(replica.remotes.map(\.id) == ["peer"])
      #expect(replica.unsealedChanges == 1)
      #expect(replica.conflicts["sameKey"] == 1)
      let tables = Dictionary(uniqueKeysWithValues: replica.tables.map { ($0.name, $0) })
      #expect(tables["book"]?.aliveRows == 2)
      #expect(tables["book"]?.deadRows == 1)
      #expect(tables["shelf"]?.unsealedChanges == 1)
      #expect(replica.storage.contains { $0.table == "grdb_tern_main_log" && $0.bytes > 0 })
      let json = try JSONEncoder().encode(inspection)
      #expect(try JSONDecoder().decode(DatabaseFileInspection.self, from: json) == inspection)
    }
  }

  @Test func `an id in JSON is its 32 digits, and nothing else is one`() throws {
    let waiting = PendingOperation(
      replica: ReplicaID(high: 0xAB, low: 1), sequence: 7, reason: .clock, detail: "no")
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let json = try encoder.encode(waiting)
    #expect(
      String(decoding: json, as: UTF8.self)
        == #"{"detail":"no","reason":"clock","replica":"00000000000000ab0000000000000001","sequence":7}"#
    )
    #expect(try JSONDecoder().decode(PendingOperation.self, from: json) == waiting)
    for text in [#""""#, #""ab""#, #""+000000000000ab0000000000000001""#, "7"] {
      #expect(throws: DecodingError.self) {
        try JSONDecoder().decode(ReplicaID.self, from: Data(text.utf8))
      }
    }
  }

  @Test func `what is stored as an id and is none is shown as none`() throws {
    try inFolder { folder in
      let path = folder + "/damaged.sqlite"
      let device = try Device(
        Self.schema, id: 1, database: DatabaseQueue(path: path), migrate: Self.migrate)
      try device.execute("UPDATE grdb_tern_main_author SET id = x'01', stored = -1")
      let replica = try #require(try DatabaseFileInspection(path: path).replicas.first)
      #expect(replica.id == ReplicaID(high: 0, low: 1))
      #expect(replica.authors.map(\.id) == [nil] && replica.authors.map(\.stored) == [0])
    }
  }

  @Test func `a quarantined row is counted with its reason`() throws {
    try inFolder { folder in
      let path = folder + "/held.sqlite"
      let device = try Device(
        Self.schema, id: 1, database: DatabaseQueue(path: path), migrate: Self.migrate)
      let other = try Device(Self.schema, id: 2, migrate: Self.migrate)
      try device.execute("INSERT INTO shelf VALUES ('hall')")
      try meet(device, other)
      try other.execute("INSERT INTO book (isbn, shelf) VALUES ('1', 'hall')")
      try device.execute("DELETE FROM shelf")
      try meet(device, other)
      let replica = try #require(try DatabaseFileInspection(path: path).replicas.first)
      #expect(replica.quarantined == ["orphaned": 1])
      #expect(replica.tables.first { $0.name == "book" }?.quarantined == ["orphaned": 1])
    }
  }

  @Test(arguments: ["DELETE", "WAL"])
  func `inspecting leaves the file and its folder as they were`(_ journal: String) throws {
    try inFolder { folder in
      let path = folder + "/quiet.sqlite"
      do {
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction {
          try $0.execute(sql: "PRAGMA journal_mode = \(journal)")
        }
        let device = try Device(Self.schema, id: 1, database: queue, migrate: Self.migrate)
        try device.execute("INSERT INTO shelf VALUES ('hall')")
        try queue.close()
      }
      let bytes = try Data(contentsOf: URL(filePath: path))
      let names = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(try DatabaseFileInspection(path: path).replicas.first?.unsealedChanges == 1)
      #expect(try Data(contentsOf: URL(filePath: path)) == bytes)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == names)
    }
  }

  @Test func `what is no replica is refused by name`() throws {
    try inFolder { folder in
      #expect(failure(folder + "/absent") == .absent)
      #expect(failure(folder) == .unreadable)
      try Data("no database at all".utf8).write(to: URL(filePath: folder + "/text"))
      #expect(failure(folder + "/text") == .notADatabase)
      try Data("SQLite format 3\0torn".utf8).write(to: URL(filePath: folder + "/torn"))
      #expect(failure(folder + "/torn") == .unreadable)
      let plain = try DatabaseQueue(path: folder + "/plain")
      try plain.write { try $0.execute(sql: "CREATE TABLE t (x)") }
      #expect(failure(folder + "/plain") == .noReplica)
      let device = try Device(
        Self.schema, id: 1, database: DatabaseQueue(path: folder + "/newer"), migrate: Self.migrate)
      try device.execute("UPDATE grdb_tern_main_replica SET format = 99")
      #expect(failure(folder + "/newer") == .newerFormat)
    }
  }
}
