#if canImport(Glibc)
import Foundation
import GRDB
import Tern
import TestDevice
import TestProcesses
import Testing

/// What a seal needs does not grow with what it seals (INV-10).
@Suite("Capture: the memory that a seal takes")
struct SealMemoryTests {
  private static let megabyte = 1 << 20

  @Test func `adopting a table keeps a part of it in memory, and the log has all of it`()
    async throws
  {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "tern-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let database = try DatabaseQueue(path: folder.appending(path: "app.sqlite").path)
    try await database.write { db in
      try db.execute(
        sql: """
          CREATE TABLE photo (id TEXT NOT NULL PRIMARY KEY, content BLOB);
          WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1600)
          INSERT INTO photo SELECT i, randomblob(100 << 10) FROM n;
          """)
    }
    let schema = SyncSchema(version: 1, tables: [SyncTable("photo")])
    var devices: [Device] = []
    let peak = try await peakMemory {
      devices.append(try Device(schema, id: 1, database: database))
    }
    let bytes = try #require(
      try await database.read { db in
        try Int.fetchOne(db, sql: "SELECT sum(length(bytes)) FROM grdb_tern_main_log")
      })
    #expect(bytes > 150 * Self.megabyte)
    #expect(peak < 50 * Self.megabyte, "\(peak >> 20) MiB at once")
    #expect(try devices[0].store.versionVector()[ReplicaID(high: 0, low: 1)] > 500)
  }
}
#endif
