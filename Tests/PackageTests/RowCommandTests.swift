#if Server
import Foundation
import GRDB
import Tern
import TestProcesses
import Testing

/// `tern explain` and `tern history` as their own processes, on a file that an app has open.
struct RowCommandTests {
  private func withLibrary(_ body: (_ path: String, Replica) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "tern-rows-\(ProcessInfo.processInfo.globallyUniqueString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let database = try DatabasePool(path: folder + "/library.sqlite")
    try await database.write { db in
      try db.execute(
        sql: """
          CREATE TABLE book (
            shelf INTEGER NOT NULL, id BLOB NOT NULL, title TEXT, scans INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (shelf, id)) WITHOUT ROWID
          """)
    }
    let replica = try await Replica.open(
      database,
      schema: SyncSchema(version: 1, tables: [SyncTable("book", merge: ["scans": .counter])]))
    try await replica.write {
      try $0.execute(sql: "INSERT INTO book VALUES (7, x'00FF', 'Dune', 1)")
    }
    try await replica.write {
      try $0.execute(sql: "UPDATE book SET title = 'Dune II', scans = 3")
    }
    try await body(folder + "/library.sqlite", replica)
  }

  @Test func `a row is explained as the open replica explains it`() async throws {
    try await withLibrary { path, replica in
      let key: [SQLiteValue] = [7, .blob([0x00, 0xFF])]
      let expected = try await replica.explain("book", key: key)
      let row = try DatabaseFileRow(path: path, table: "BOOK", key: ["7", "x'00ff'"])
      #expect(row.key == key && !row.isUnsealed && row.replica == "main")
      #expect(try row.explanation() == expected)
      let text = try await tern("explain", path, "book", "7", "x'00FF'")
      #expect(text.output == "\(expected)\n" && text.code == 0)
      let json = try await tern("explain", path, "book", "7", "x'00FF'", "--json")
      let shown = try #require(
        try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
      #expect(shown["standing"] as? String == "shown")
      let columns = try #require(shown["columns"] as? [[String: Any]])
      #expect(columns.map { $0["name"] as? String } == ["title", "scans"])
      #expect(columns[0]["value"] as? String == "Dune II")
      #expect(columns[1]["value"] as? Int == 3)
      #expect((columns[0]["writes"] as? [[String: Any]])?.count == 2)
    }
  }

  @Test func `its history is the log's, and what is not sealed is told`() async throws {
    try await withLibrary { path, replica in
      let key: [SQLiteValue] = [7, .blob([0x00, 0xFF])]
      let expected = try await replica.history("book", key: key)
      #expect(expected.changes.count == 2)
      let row = try DatabaseFileRow(path: path, table: "book", key: ["7", "x'00FF'"])
      #expect(try row.history() == expected)
      let lines = expected.changes.map { "\($0)\n" }.joined()
      let text = try await tern("history", path, "book", "7", "x'00FF'")
      #expect(text.output == lines && text.code == 0)
      try await replica.database.write { try $0.execute(sql: "UPDATE book SET title = 'Ubik'") }
      let later = try await tern("history", path, "book", "7", "x'00FF'")
      #expect(later.output.hasPrefix(lines) && later.output.contains("since the last seal"))
      let json = try await tern("history", path, "book", "7", "x'00FF'", "--json")
      let changes =
        try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [[String: Any]]
      #expect(changes?.map { $0["kind"] as? String } == ["insert", "insert"])
    }
  }

  @Test func `what is not there is refused by name`() async throws {
    try await withLibrary { path, _ in
      let table = try await tern("explain", path, "shelf", "7")
      #expect(table.output.contains("those that sync are book") && table.code != 0)
      let width = try await tern("history", path, "book", "7")
      #expect(width.output.contains("its key has 2 columns (shelf, id)") && width.code != 0)
      let absent = try await tern("explain", path + "x", "book", "7")
      #expect(absent.output == "Error: there is no file \(path)x\n" && absent.code != 0)
    }
  }

  @Test func `another table that a migration took away is no matter of this one`() async throws {
    try await withLibrary { path, replica in
      try await replica.database.write { db in
        try db.execute(sql: "CREATE TABLE tag (id TEXT NOT NULL PRIMARY KEY)")
      }
      let tables = [SyncTable("book", merge: ["scans": .counter]), SyncTable("tag")]
      let wider = try await Replica.open(
        replica.database, schema: SyncSchema(version: 2, tables: tables))
      let expected = try await wider.explain("book", key: [7, .blob([0x00, 0xFF])])
      try await replica.database.write { try $0.execute(sql: "DROP TABLE tag") }
      let book = try await tern("explain", path, "book", "7", "x'00FF'")
      #expect(book.output == "\(expected)\n" && book.code == 0)
      let tag = try await tern("explain", path, "tag", "7")
      #expect(tag.output.contains("the database has no such table") && tag.code != 0)
    }
  }

  private func tern(_ arguments: String...) async throws -> (output: String, code: CInt) {
    try await run([try BuiltExecutable.path("tern")] + arguments)
  }
}
#endif
