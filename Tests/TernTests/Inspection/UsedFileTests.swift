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
    case inspection, diagnosis, row, explanation, contents, inbox

    func run(_ path: String) throws {
      switch self {
      case .inspection: #expect(try DatabaseFileInspection(path: path).replicas.count == 1)
      case .diagnosis: #expect(try DatabaseDiagnosis(path: path).findings.isEmpty)
      case .row:
        #expect(try DatabaseFileRow(path: path, table: "book", key: ["1"]).replica == "main")
      case .explanation:
        let row = try DatabaseFileRow(path: path, table: "book", key: ["1"])
        #expect(try row.explanation().columns.isEmpty)
      case .contents: #expect(try DatabaseFileContents(path: path).replicas.count == 1)
      case .inbox:
        #expect(try DatabaseFileInbox(path: path, replica: "main").items(limit: 9).isEmpty)
      }
    }
  }

  private func device(_ database: any DatabaseWriter) throws -> Device {
    let device = try Device(
      SyncSchema(version: 1, tables: [SyncTable("book")]), id: 1, database: database
    ) { try $0.execute(sql: "CREATE TABLE book (isbn TEXT NOT NULL PRIMARY KEY)") }
    try device.commit("INSERT INTO book VALUES ('1')")
    return device
  }

  @Test(arguments: Look.allCases, [true, false])
  func `nothing is lost of what is written after`(_ look: Look, _ isPool: Bool) async throws {
    try await inTemporaryFolder { folder in
      let path = folder + "/a.sqlite"
      let database: any DatabaseWriter =
        isPool ? try DatabasePool(path: path) : try DatabaseQueue(path: path)
      if !isPool {
        try await database.writeWithoutTransaction { db in
          _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL")
        }
      }
      let device = try device(database)
      try look.run(path)
      let count = ["/usr/bin/sqlite3", path, "SELECT count(*) FROM book"]
      #expect(try await run(count).output == "1\n")
      for isbn in 2...4 { try device.commit("INSERT INTO book VALUES ('\(isbn)')") }
      #expect(try await run(count).output == "4\n")
      let later = try DatabaseQueue(path: path)
      #expect(try await later.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM book") } == 4)
    }
  }

  @Test(arguments: Look.allCases)
  func `nobody else writes into an open transaction with a rollback journal`(_ look: Look)
    async throws
  {
    try await inTemporaryFolder { folder in
      let path = folder + "/a.sqlite"
      var configuration = Configuration()
      configuration.allowsUnsafeTransactions = true
      let database = try DatabaseQueue(path: path, configuration: configuration)
      _ = try device(database)
      try await database.writeWithoutTransaction { try $0.beginTransaction(.immediate) }
      try look.run(path)
      let insert = ["/usr/bin/sqlite3", path, "INSERT INTO book VALUES ('stranger')"]
      #expect(try await run(insert).output.contains("database is locked"))
      try await database.writeWithoutTransaction { try $0.commit() }
    }
  }
}
#endif
