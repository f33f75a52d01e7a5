#if Server
import Foundation
import GRDB
import Tern
import TernServer
import TestProcesses
import Testing

/// `tern inspect` as its own process.
struct InspectCommandTests {
  @Test func `a server's file shows spaces, heads and tokens, and stays as it was`() async throws {
    try await inFolder { folder in
      let data = folder + "/server.tern"
      let operation = SyncOperation(
        .init(
          replica: ReplicaID(high: 0, low: 7), sequence: 1, time: HybridTime(milliseconds: 1),
          seen: VersionVector(), schemaVersion: 1, continues: false), body: [])
      do {
        var generator = SystemRandomNumberGenerator()
        let store = try SQLiteSpaceStore(path: data, using: &generator)
        defer { try? store.close() }
        let service = SpaceService(store: store, clock: .system)
        _ = try service.createToken(for: SpaceName("home"), using: &generator)
        _ = try service.push([operation], to: SpaceName("home"))
      }
      let bytes = try Data(contentsOf: URL(filePath: data))
      let names = try FileManager.default.contentsOfDirectory(atPath: folder)

      let json = try await inspect(data, "--json")
      #expect(json.code == 0)
      let shown = try #require(
        try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
      #expect(shown["tokens"] as? Int == 1)
      let space = try #require((shown["spaces"] as? [[String: Any]])?.first)
      #expect(space["name"] as? String == "home")
      #expect(space["position"] as? Int == 1)
      #expect((space["authors"] as? [[String: Any]])?.first?["sequence"] as? Int == 1)

      let table = try await inspect(data)
      #expect(table.code == 0)
      #expect(table.output.contains("home"))
      #expect(table.output.contains(operation.envelope.replica.description))
      #expect(try Data(contentsOf: URL(filePath: data)) == bytes)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == names)
    }
  }

  @Test func `a replica's file is shown as tables and as JSON`() async throws {
    try await inFolder { folder in
      let path = folder + "/library.sqlite"
      let database = try DatabasePool(path: path)
      try await database.write { db in
        try db.execute(
          sql: """
            CREATE TABLE book (isbn TEXT NOT NULL PRIMARY KEY);
            CREATE TABLE "📚📚📚📚shelf" (id TEXT NOT NULL PRIMARY KEY)
            """)
      }
      _ = try await Replica.open(
        database,
        schema: SyncSchema(version: 1, tables: [SyncTable("book"), SyncTable("📚📚📚📚shelf")]))
      try await database.write { try $0.execute(sql: "INSERT INTO book VALUES ('1')") }
      let table = try await inspect(path)
      #expect(table.code == 0)
      #expect(table.output.contains("1 waiting for a seal"))
      #expect(table.output.contains(" 📚📚📚📚shelf "))
      let json = try await inspect(path, "--json")
      let file = try JSONDecoder().decode(
        DatabaseFileInspection.self, from: Data(json.output.utf8))
      #expect(file.replicas.map(\.unsealedChanges) == [1])
    }
  }

  @Test(arguments: [
    (["--port", "8123"], "go with --serve"), (["--no-open"], "go with --serve"),
    (["--allow-changes"], "go with --serve"), (["--serve", "--json"], "exclude each other"),
    (["--serve", "--port", "65536"], "from 0 to 65535"),
  ])
  func `options of the page are refused where they mean nothing`(
    _ options: [String], _ message: String
  ) async throws {
    let refused = try await run([try BuiltExecutable.path("tern"), "inspect", "a"] + options)
    #expect(refused.code == 64)
    #expect(refused.output.contains(message), "\(refused.output)")
  }

  @Test func `a server's file has no page, and a port that is taken is named`() async throws {
    try await inFolder { folder in
      var generator = SystemRandomNumberGenerator()
      try SQLiteSpaceStore(path: folder + "/server.tern", using: &generator).close()
      let served = try await inspect(folder + "/server.tern", "--serve", "--no-open")
      #expect(served.code != 0)
      #expect(served.output.contains("is a server's; leave out --serve"), "\(served.output)")
      let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(listener) }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = inet_addr("127.0.0.1")
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let port = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          _ = bind(listener, $0, size)
          _ = listen(listener, 1)
          _ = getsockname(listener, $0, &size)
        }
        return UInt16(bigEndian: pointer.pointee.sin_port)
      }
      let taken = try await inspect(folder + "/a", "--serve", "--no-open", "--port", "\(port)")
      #expect(taken.code != 0)
      #expect(taken.output.contains("can't listen on 127.0.0.1:\(port)"), "\(taken.output)")
    }
  }

  #if os(Linux)
  @Test(.timeLimit(.minutes(3))) func `the page's address is opened where there is a screen`()
    async throws
  {
    try await inTemporaryFolder { folder in
      let browser = try FalseBrowser(in: folder)
      defer { browser.remove() }
      let serve = [
        try BuiltExecutable.path("tern"), "inspect", folder + "/a", "--serve", "--port", "0",
      ]
      let (said, opened) = try await browser.watch(serve, display: ":0", opens: true)
      #expect(said.hasPrefix("http://127.0.0.1:"))
      #expect(opened == said)
      #expect(try await browser.watch(serve, display: "", opens: false).opened == nil)
      let kept = try await browser.watch(serve + ["--no-open"], display: ":0", opens: false)
      #expect(kept.said.hasPrefix("http://127.0.0.1:"))
      #expect(kept.opened == nil)
    }
  }
  #endif

  @Test func `what it cannot show it says, and fails`() async throws {
    try await inFolder { folder in
      let absent = try await inspect(folder + "/absent")
      #expect(absent.code != 0)
      #expect(absent.output == "Error: there is no file \(folder)/absent\n")
    }
  }

  private static let endless = """
    AS WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers) SELECT * FROM numbers
    """

  @Test(.timeLimit(.minutes(1))) func `an endless view in place of a table is named, and not read`()
    async throws
  {
    try await inFolder { folder in
      let (path, data) = (folder + "/library.sqlite", folder + "/server.tern")
      let database = try DatabasePool(path: path)
      try await database.write {
        try $0.execute(sql: "CREATE TABLE book (isbn TEXT NOT NULL PRIMARY KEY)")
      }
      _ = try await Replica.open(
        database, schema: SyncSchema(version: 1, tables: [SyncTable("book")]))
      let logs = try await database.read {
        try String.fetchAll(
          $0, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB '*_log'")
      }
      let log = try #require(logs.first)
      try await database.write {
        try $0.execute(sql: "DROP TABLE \(log); CREATE VIEW \(log) (bytes) \(Self.endless)")
      }
      do {
        var generator = SystemRandomNumberGenerator()
        let store = try SQLiteSpaceStore(path: data, using: &generator)
        try store.close()
      }
      try await DatabaseQueue(path: data).write {
        try $0.execute(sql: "DROP TABLE head; CREATE VIEW token_copy AS SELECT 1")
        try $0.execute(sql: "CREATE VIEW head (space) \(Self.endless)")
      }
      for (file, view) in [(path, log), (data, "head")] {
        let refused = try await inspect(file)
        #expect(refused.code != 0)
        #expect(refused.output.contains("\"\(view)\" is a view"))
      }
      let doctored = try await run([try BuiltExecutable.path("tern"), "doctor", path])
      #expect(doctored.code != 0)
    }
  }

  private func inspect(_ arguments: String...) async throws -> (output: String, code: CInt) {
    try await run([try BuiltExecutable.path("tern"), "inspect"] + arguments)
  }

  private func inFolder(_ body: (String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "tern-inspect-\(ProcessInfo.processInfo.globallyUniqueString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder.path)
  }
}
#endif
