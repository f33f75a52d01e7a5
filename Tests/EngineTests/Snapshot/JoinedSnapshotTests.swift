#if Server
import Foundation
import GRDB
import Tern
import TernServer
import TestDevice
import Testing

/// Two servers whose logs are trimmed, and a device that has one of them and takes the other too:
/// neither has the operations that the other lacks.
@Suite("Snapshot: spaces that meet after their logs were trimmed", .timeLimit(.minutes(2)))
struct JoinedSnapshotTests {
  private static let creation = """
    CREATE TABLE author (id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE book (
      id TEXT NOT NULL PRIMARY KEY, title TEXT, place TEXT,
      author TEXT REFERENCES author (id) ON DELETE CASCADE,
      scans INTEGER NOT NULL DEFAULT 0, best INTEGER, tags TEXT NOT NULL DEFAULT '[]',
      body TEXT NOT NULL DEFAULT '', shelf TEXT);
    """

  private static let schema = SyncSchema(
    version: 1,
    tables: [
      SyncTable("author"),
      SyncTable(
        "book", merge: ["scans": .counter, "best": .max, "tags": .set, "body": .text],
        local: ["shelf"]),
    ])

  /// Devices in one folder, with logs that keep nothing for its age.
  private struct World {
    let folder: URL
    let home: Server
    let work: Server

    func device(_ name: String, _ servers: Server...) async throws -> Device {
      let database = try DatabasePool(path: folder.appending(path: name).path)
      try await database.write { try $0.execute(sql: creation) }
      let replica = try await Replica.open(
        database, schema: schema, logRetention: .seconds(-60))
      return try again(Device(database, replica), servers)
    }

    /// The same with other remotes.
    func again(_ device: Device, _ servers: [Server]) throws -> Device {
      try Device(
        device.database, device.replica,
        remotes: servers.map { try Server.remote(port: $0.port) })
    }
  }

  private func withServers(_ body: (World) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "tern-joined-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var limits = ServerLimits()
    (limits.operationsPerSnapshot, limits.retention) = (3, .zero)
    // Servers wait for no reader before they trim.
    limits.lease = .seconds(-2 * 24 * 60 * 60)
    try await Server.run(Server.memoryStore(seed: 1), limits: limits) { home in
      try await Server.run(Server.memoryStore(seed: 2), limits: limits) { work in
        try await body(World(folder: folder, home: home, work: work))
      }
    }
  }

  private func write(_ device: Device, _ statements: String...) async throws {
    for sql in statements {
      try await device.execute(sql)
      try device.store.seal()
    }
  }

  private func sync(_ devices: [Device]) async throws {
    for _ in 1...3 { for device in devices { try await device.syncOnce() } }
  }

  /// Whether neither can be given everything by operations.
  private func expectTrimmed(_ world: World, _ devices: Device...) throws {
    for server in [world.home, world.work] {
      #expect(try server.service.greet(SpaceName(Server.space)).trimmed > 0)
    }
    for device in devices {
      #expect(try device.store.hasTrimmed(lackedBy: VersionVector()))
    }
  }

  /// A device's own server refuses what a second one's space lacks, until both operators ask for it.
  private func openRefills(_ world: World, after devices: Device...) async throws {
    for device in devices {
      let error = await #expect(throws: RemoteError.self) { try await device.syncOnce() }
      #expect(error?.code == .refillNeeded)
      #expect(device.engines.contains { $0.status.current.lastError?.code == .refillNeeded })
    }
    for server in [world.home, world.work] { try server.service.refill(SpaceName(Server.space)) }
  }

  private func expectEqual(_ devices: [Device]) throws {
    let expected = try devices[0].store.canonicalState()
    for device in devices {
      #expect(try device.store.canonicalState() == expected)
      let diagnosis = try device.database.read { try DatabaseDiagnosis($0) }
      #expect(diagnosis.findings.map(\.description) == [])
      for engine in device.engines {
        #expect(engine.status.current.unpushed == 0 && engine.status.current.lastError == nil)
      }
    }
  }

  @Test("INV-01, INV-07: two that never met", arguments: [false, true])
  func strangers(isAtOnce: Bool) async throws {
    try await withServers { world in
      var a = try await world.device("a", world.home)
      let a2 = try await world.device("a2", world.home)
      var b = try await world.device("b", world.work)
      let b2 = try await world.device("b2", world.work)
      for (device, side, count) in [(a, "home", 2), (b, "work", 3)] {
        try await write(
          device, "INSERT INTO author VALUES ('\(side)', 'Le Guin')",
          "INSERT INTO book (id, title, tags, body) "
            + "VALUES ('isbn', '\(side)', '[\"\(side)\"]', '\(side)')",
          "UPDATE book SET scans = scans + \(count), best = \(count), place = '\(side)'",
          "INSERT INTO book (id, title, author) VALUES ('\(side)', '', '\(side)')",
          "UPDATE book SET title = 'read twice', shelf = 'mine' WHERE id = '\(side)'",
          "INSERT INTO book (id, title) VALUES ('gone-\(side)', '')",
          "DELETE FROM book WHERE id = 'gone-\(side)'")
      }
      try await sync([a, a2, b, b2])
      try expectTrimmed(world, a, b)
      // Nobody was given this yet.
      try await write(a, "UPDATE book SET scans = scans + 100, title = 'last' WHERE id = 'isbn'")
      a = try world.again(a, [world.home, world.work])
      if isAtOnce { b = try world.again(b, [world.work, world.home]) }
      try await openRefills(world, after: a)
      try await sync([a, b, a2, b2])
      try expectEqual([a, b, a2, b2])
      let row = try await a.column(
        "SELECT title || scans || best || tags || body FROM book WHERE id = 'isbn'")
      #expect(row.first?.hasPrefix("last1053[\"home\",\"work\"]") ?? false)
      #expect(row.first?.contains("home") ?? false && row.first?.contains("work") ?? false)
      // One name is taken by one author alone, and the other's book waits with its author.
      let books = try await a.column("SELECT id FROM book ORDER BY id")
      #expect(books == ["home", "isbn"] || books == ["isbn", "work"])
      #expect(try await a.column("SELECT shelf FROM book WHERE shelf NOT NULL") == ["mine"])
      let new = [try await world.device("c", world.home), try await world.device("d", world.work)]
      try await sync(new)
      try expectEqual([a] + new)
    }
  }

  @Test("INV-01, INV-07: two that once had a device in common, and both went on")
  func formerFriends() async throws {
    try await withServers { world in
      let bridge = try await world.device("bridge", world.home, world.work)
      var a = try await world.device("a", world.home)
      let b = try await world.device("b", world.work)
      try await write(
        bridge, "INSERT INTO author VALUES ('x', 'Lem'), ('y', 'Dick')",
        "INSERT INTO book (id, title, tags, body, scans) VALUES ('1', 'one', '[1,2]', 'text', 1)",
        "INSERT INTO book (id, title, author) VALUES ('2', 'two', 'x'), ('3', 'three', 'y')")
      try await sync([a, bridge, b])
      for (device, side, count) in [(a, "home", 10), (b, "work", 100)] {
        for _ in 1...4 { try await write(device, "UPDATE book SET scans = scans + \(count)") }
        try await write(
          device, "UPDATE book SET body = body || '\(side)', title = '\(side)' WHERE id = '1'")
      }
      try await write(a, "UPDATE book SET tags = '[2,3]' WHERE id = '1'")
      try await write(b, "UPDATE book SET tags = '[1,4]' WHERE id = '1'")
      try await write(a, "INSERT INTO book (id, author) VALUES ('4', 'x')")
      try await write(b, "DELETE FROM author WHERE id = 'x'", "DELETE FROM book WHERE id = '3'")
      try await sync([a, b])
      try expectTrimmed(world, a, b)
      a = try world.again(a, [world.home, world.work])
      try await openRefills(world, after: a)
      try await sync([a, b])
      try expectEqual([a, b])
      #expect(
        try await b.column("SELECT title || scans || tags FROM book") == ["work441[3,4]"])
      // What was written here and lost can be seen, and put back.
      let lost = try await a.replica.inbox().map { entry in
        "\(entry.kind.rawValue) \(entry.key[0]): \(entry.values["title"] ?? .null)"
      }
      #expect(
        lost.sorted() == [
          "deleteWins '2': 'two'", "deleteWins '3': 'three'", "lastWriter '1': 'home'",
          "orphaned '4': NULL",
        ])
      let entry = try #require(try await a.replica.inbox().first { $0.kind == .lastWriter })
      try await a.replica.restore(entry)
      #expect(try await a.column("SELECT title FROM book") == ["home"])
      // Who comes back brings nothing that was counted before.
      try await sync([bridge, a, b])
      try expectEqual([a, b, bridge])
      #expect(try await a.column("SELECT scans FROM book") == ["441"])
    }
  }
}
#endif
