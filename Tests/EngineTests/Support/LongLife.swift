#if Server
import Foundation
import GRDB
import Synchronization
import Tern
import TernServer
import TernTesting
import TestDevice
import Testing

/// Devices and a server in files, and one clock that all of them go by and that nobody waits for.
final class LongLife: Sendable {
  private let folder: URL
  private let milliseconds = Mutex<Int64>(1_767_225_600_000)

  private init(_ folder: URL) { self.folder = folder }

  static func run(_ body: (LongLife) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "tern-life-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(LongLife(folder))
  }

  func pass(days: Int) { milliseconds.withLock { $0 += Int64(days) * 86_400_000 } }

  private var now: Int64 { milliseconds.withLock { $0 } }

  func path(_ name: String) -> String { folder.appending(path: name).path }

  // MARK: - A server

  /// - Parameter file: a name of before for a server that is started again, a new one for one that
  ///   was wiped.
  func serve(
    _ file: String, port: Int = 0, limits: ServerLimits = few,
    _ body: (Server) async throws -> Void
  ) async throws {
    var generator = SeededGenerator(seed: UInt64(file.utf8.reduce(0) { $0 * 31 + Int($1) }))
    let store = try SQLiteSpaceStore(path: path(file), using: &generator)
    let clock = ServerClock { [self] in Date(milliseconds: now) }
    try await Server.run(store, port: port, limits: limits, clock: clock, body)
    try store.close()
    let diagnosis = try DatabaseDiagnosis(path: path(file), other: ServerDoctor.look)
    #expect(diagnosis.findings.map(\.description) == [])
    #expect(diagnosis.remarks.filter { $0.check == "snapshot-replay" } == [])
  }

  /// Leases and retention as they are, and a snapshot after few operations.
  static var few: ServerLimits {
    var limits = ServerLimits()
    limits.operationsPerSnapshot = 3
    return limits
  }

  /// Puts the file of a server that has ended somewhere, or back.
  func copy(_ file: String, to copy: String) throws {
    for suffix in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: path(copy + suffix))
    }
    try FileManager.default.copyItem(atPath: path(file), toPath: path(copy))
  }

  // MARK: - Devices

  /// The same name again is the same file, as the next start of the app finds it.
  func device(_ name: String, _ remotes: (Replica) throws -> [any Remote]) async throws -> Device {
    var configuration = Configuration()
    configuration.prepareDatabase { [self] db in
      let today = DatabaseFunction("julianday", argumentCount: 0) { [self] _ in
        Double(now) / 86_400_000 + 2_440_587.5
      }
      db.add(function: today)
    }
    let database = try DatabasePool(path: path(name), configuration: configuration)
    try await database.write { db in
      try db.execute(
        sql: """
          CREATE TABLE IF NOT EXISTS item (
            id TEXT NOT NULL PRIMARY KEY, text TEXT, count INTEGER NOT NULL DEFAULT 0)
          """)
    }
    let schema = SyncSchema(version: 1, tables: [SyncTable("item", merge: ["count": .counter])])
    let replica = try await Replica.open(database, schema: schema)
    return try Device(database, replica, remotes: remotes(replica))
  }

  func device(_ name: String, at server: Server, token: String? = nil) async throws -> Device {
    try await device(name) { _ in [try Server.remote(port: server.port, token: token)] }
  }
}

extension Device {
  /// Writes each in an operation of its own.
  func write(_ ids: String...) async throws {
    for id in ids {
      try await execute("INSERT INTO item VALUES ('\(id)', 'of \(id)', 1)")
      try store.seal()
    }
  }

  func ids() async throws -> [String] { try await column("SELECT id FROM item ORDER BY id") }
}

extension [Device] {
  func sync(rounds: Int = 3) async throws {
    for _ in 1...rounds { for device in self { try await device.syncOnce() } }
  }

  /// All have these rows and equal states, and nothing is broken or waits.
  func expectEqual(_ ids: [String], location: SourceLocation = #_sourceLocation) async throws {
    let state = try self[0].store.canonicalState()
    for device in self {
      #expect(try await device.ids() == ids.sorted(), sourceLocation: location)
      #expect(try device.store.canonicalState() == state, sourceLocation: location)
      let diagnosis = try await device.database.read { try DatabaseDiagnosis($0) }
      #expect(diagnosis.findings.map(\.description) == [], sourceLocation: location)
      for status in device.engines.map(\.status.current) {
        #expect(status.unpushed == 0 && status.lastError == nil, sourceLocation: location)
      }
    }
  }
}
#endif
