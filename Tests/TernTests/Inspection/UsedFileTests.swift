#if os(Linux) || os(macOS)
import Foundation
import GRDB
import Tern
import TestDevice
import TestProcesses
import Testing

/// Looks at a file that the same process has open, as an app does at its own, while another process
/// reads it and goes: the last to go removes the log, unless it sees that others use it.
@Suite("Inspection: looks at a file in use")
struct UsedFileTests {
  enum Look: CaseIterable {
    case inspection, diagnosis, row, explanation

    func run(_ path: String) throws {
      switch self {
      case .inspection: #expect(try DatabaseFileInspection(path: path).replicas.count == 1)
      case .diagnosis: #expect(try DatabaseDiagnosis(path: path).findings.isEmpty)
      case .row:
        #expect(try DatabaseFileRow(path: path, table: "book", key: ["1"]).replica == "main")
      case .explanation:
        let row = try DatabaseFileRow(path: path, table: "book", key: ["1"])
        #expect(try row.explanation().columns.isEmpty)
      }
    }
  }

  @Test(arguments: Look.allCases, ["pool", "queue", "rollback"])
  func `nothing is lost of what is written after`(_ look: Look, _ kind: String) async throws {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "tern-\(ProcessInfo.processInfo.globallyUniqueString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/a.sqlite"
    let database: any DatabaseWriter =
      kind == "pool" ? try DatabasePool(path: path) : try DatabaseQueue(path: path)
    if kind == "queue" {
      try await database.writeWithoutTransaction { db in
        _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL")
      }
    }
    let device = try Device(
      SyncSchema(version: 1, tables: [SyncTable("book")]), id: 1, database: database
    ) { try $0.execute(sql: "CREATE TABLE book (isbn TEXT NOT NULL PRIMARY KEY)") }
    try device.commit("INSERT INTO book VALUES ('1')")
    try look.run(path)
    let count = ["/usr/bin/sqlite3", path, "SELECT count(*) FROM book"]
    #expect(try await run(count).output == "1\n")
    for isbn in 2...4 { try device.commit("INSERT INTO book VALUES ('\(isbn)')") }
    #expect(try await run(count).output == "4\n")
    let later = try DatabaseQueue(path: path)
    #expect(try await later.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM book") } == 4)
  }
}
#endif
