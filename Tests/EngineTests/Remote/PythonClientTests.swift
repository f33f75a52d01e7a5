#if Server
import Foundation
import GRDB
import Tern
import TestDevice
import TestProcesses
import Testing

/// `Examples/Python`, which was written from `Docs/WireFormat.md` and the server's OpenAPI document,
/// beside a replica of ours.
@Suite("Remote: a client in Python", .timeLimit(.minutes(1)))
struct PythonClientTests {
  private static let folder = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Examples/Python")

  /// A replica in Python, with a file of its own.
  private struct Client {
    let file: String
    let port: Int

    @discardableResult
    func run(_ arguments: String..., columns: String = "title,pages") async throws -> String {
      let program = PythonClientTests.folder.appending(path: "tern.py").path
      let token = try Server.token()
      let (output, code) = try await TestProcesses.run(
        [
          "/usr/bin/env", "TERN_TOKEN=\(token)", "PYTHONDONTWRITEBYTECODE=1", "python3", program,
          file, "--table", "book", "--key", "isbn", "--columns", columns,
        ] + arguments)
      guard code == 0 else { throw Failure(output: output) }
      return output
    }

    func sync() async throws { try await run("sync", "http://127.0.0.1:\(port)", Server.space) }

    /// Each row as JSON, in the order of texts.
    func rows() async throws -> [String] {
      try await run("rows").split(separator: "\n").map(String.init).sorted()
    }
  }

  private struct Failure: Error { var output: String }

  private static func device(
    _ port: Int, merge: [String: MergeRule] = [:], pages: String = "INTEGER"
  ) async throws -> Device {
    let database = try DatabaseQueue()
    try await database.write { db in
      try db.execute(
        sql: "CREATE TABLE book (isbn TEXT NOT NULL PRIMARY KEY, title TEXT, pages \(pages))")
    }
    let replica = try await Replica.open(
      database, schema: SyncSchema(version: 1, tables: [SyncTable("book", merge: merge)]))
    return try Device(database, replica, remotes: [Server.remote(port: port)])
  }

  /// As the client prints them.
  private static func rows(_ device: Device) async throws -> [String] {
    try await device.column(
      """
      SELECT format('{"isbn": "%s", "title": %s, "pages": %s}', isbn,
        iif(title IS NULL, 'null', format('"%s"', title)), ifnull(pages, 'null'))
      FROM book
      """
    ).sorted()
  }

  @Test func `both write a table, also the same column at once, and end equal`() async throws {
    try await inTemporaryFolder { folder in
      try await Server.run(Server.memoryStore(seed: 1)) { server in
        let device = try await Self.device(server.port)
        let client = Client(file: folder + "/client.sqlite", port: server.port)
        // One of many rows, so that they travel compressed.
        try await device.execute(
          """
          WITH RECURSIVE n (i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
          INSERT INTO book SELECT i, 'Dune ' || i, 400 + i FROM n
          """)
        try await client.run("put", #"{"isbn": "100", "title": "Solaris", "pages": -1}"#)
        try await device.engine.syncOnce()
        try await client.sync()
        try await device.engine.syncOnce()
        let first = try await Self.rows(device)
        #expect(first.count == 91)
        #expect(try await client.rows() == first)

        // Neither knows of the other's write to title, and the client's is the later one.
        try await device.execute("UPDATE book SET title = 'Dune' WHERE isbn = '10'")
        try await device.execute("UPDATE book SET title = 'Ubik', pages = 1 WHERE isbn = '11'")
        try await device.execute("DELETE FROM book WHERE isbn = '12'")
        try await device.replica.seal()
        try await client.run("put", #"{"isbn": "10", "title": "Emma"}"#)
        try await client.run("put", #"{"isbn": "11", "pages": 2}"#)
        try await client.run("put", #"{"isbn": "12", "title": "lost"}"#)
        try await client.run("delete", #"{"isbn": "13"}"#)
        try await client.sync()
        try await device.engine.syncOnce()
        try await client.sync()

        let rows = try await client.rows()
        #expect(try await Self.rows(device) == rows)
        #expect(rows.count == 89)
        #expect(rows[0] == #"{"isbn": "10", "title": "Emma", "pages": 410}"#)
        #expect(rows[2] == #"{"isbn": "11", "title": "Ubik", "pages": 2}"#)
        #expect(device.engine.status.current.lastError == nil)
      }
    }
  }

  @Test func `a row that was deleted and made anew is one again on both`() async throws {
    try await inTemporaryFolder { folder in
      try await Server.run(Server.memoryStore(seed: 1)) { server in
        let device = try await Self.device(server.port)
        let client = Client(file: folder + "/client.sqlite", port: server.port)
        try await client.run("put", #"{"isbn": "1", "title": "a", "pages": 1}"#)
        try await client.run("delete", #"{"isbn": "1"}"#)
        try await client.sync()
        try await device.engine.syncOnce()
        try await device.execute("INSERT INTO book VALUES ('1', 'b', NULL)")
        try await device.engine.syncOnce()
        try await client.sync()
        #expect(try await client.rows() == [#"{"isbn": "1", "title": "b", "pages": null}"#])
        try await client.run("delete", #"{"isbn": "1"}"#)
        try await client.sync()
        try await device.engine.syncOnce()
        #expect(try await Self.rows(device) == [])
      }
    }
  }

  @Test func `a rule that the client lacks is refused, and its cursor stays`() async throws {
    try await inTemporaryFolder { folder in
      try await Server.run(Server.memoryStore(seed: 1)) { server in
        let device = try await Self.device(
          server.port, merge: ["pages": .counter], pages: "INTEGER NOT NULL DEFAULT 0")
        let client = Client(file: folder + "/client.sqlite", port: server.port)
        try await device.execute("INSERT INTO book VALUES ('1', 'Dune', 412)")
        try await device.engine.syncOnce()
        let failure = await #expect(throws: Failure.self) { try await client.sync() }
        #expect(failure?.output.contains("column pages has rule 1") == true)
        // Without that column it takes the rest.
        try await client.run("sync", "http://127.0.0.1:\(server.port)", "home", columns: "title")
        let rows = try await client.run("rows", columns: "title")
        #expect(rows == #"{"isbn": "1", "title": "Dune"}"# + "\n")
      }
    }
  }
}
#endif
