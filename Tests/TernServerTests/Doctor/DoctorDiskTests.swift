#if Server && os(Linux)
import Foundation
import GRDB
import Tern
import TernServer
import Testing

/// A look that needs a temporary file needs room for it.
@Suite("Doctor: no room for temporary files", .timeLimit(.minutes(1)))
struct DoctorDiskTests {
  @Test(.enabled(if: SmallDisk.isAllowed, "this process may mount no disk"))
  func `what needs none is looked at all the same, and the rest is named`() async throws {
    let folder = try TemporaryFolder()
    let disk = try #require(try SmallDisk(megabytes: 1))
    let path = folder.path("app.sqlite")
    let database = try DatabaseQueue(path: path)
    try await database.write {
      try $0.execute(sql: "CREATE TABLE book (id TEXT NOT NULL PRIMARY KEY, title TEXT)")
    }
    let replica = try await Replica.open(
      database, schema: SyncSchema(version: 1, tables: [SyncTable("book")]))
    // More than SQLite keeps of them in memory.
    try await replica.write {
      for number in 0..<4_000 {
        try $0.execute(
          sql: "INSERT INTO book VALUES (?, 'x')",
          arguments: ["\(number)" + String(repeating: "k", count: 1_000)])
      }
    }
    try await database.write {
      // Without triggers: nobody noted it.
      try $0.execute(sql: "UPDATE grdb_tern_main_replica SET last_time = 1")
    }
    disk.fill()
    let full = try TernProcess.run(
      ["doctor", path, "--json"], behind: ["SQLITE_TMPDIR=\(disk.path)"])
    #expect(full.code == 1, "\(full.errors)")
    #expect(full.output.contains(#""check" : "clock""#), "\(full.output)")
    #expect(full.output.contains(#""check" : "temporary-full""#))
    #expect(full.output.contains("state-replay was not looked at"))
    disk.empty()
  }
}
#endif
