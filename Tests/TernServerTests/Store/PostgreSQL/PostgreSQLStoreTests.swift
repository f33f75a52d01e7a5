#if PostgreSQL
import Foundation
import TernCore
import Testing

@testable import TernServer

@Suite(
  "PostgreSQL: the database of a store",
  .enabled(if: TestDatabase.address != nil, "script/test starts a database"))
struct PostgreSQLStoreTests {
  private let database: TestDatabase

  init() throws { database = try TestDatabase() }

  private func address(as role: String) throws -> String {
    try #require(TestDatabase.address).replacing("user=tern", with: "user=\(role)")
  }

  private func open(_ address: String, schema: String? = nil) throws -> PostgreSQLSpaceStore {
    var generator = SeededGenerator(state: 1)
    return try PostgreSQLSpaceStore(
      address, schema: schema ?? database.schema, using: &generator)
  }

  @Test func `two processes that make a store at once have the same one`() async throws {
    let database = database
    let epochs = try await withThrowingTaskGroup(of: String.self) { group in
      for seed in 1...4 { group.addTask { try database.open(seed: UInt64(seed)).epoch } }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(epochs.count == 1)
    #expect(try database.open(seed: 9).epoch == epochs.first)
  }

  @Test func `a newer format is refused by name, and nothing is changed`() throws {
    _ = try database.open()
    try database.run("UPDATE tern.store SET format = 3, oldest_format = 2")
    let error = #expect(throws: StoreError.self) { try database.open() }
    #expect(error?.code == .newerFormat)
    try database.run("UPDATE tern.store SET oldest_format = 1")
  }

  @Test(arguments: [
    ("synchronous_commit = off", "synchronous_commit"),
    ("default_transaction_read_only = on", "takes no writes"),
  ])
  func `a database that keeps no promise is refused`(_ setting: String, _ word: String) throws {
    let role = "r\(UUID().uuidString.lowercased().prefix(8))"
    try database.run("CREATE ROLE \(role) LOGIN SUPERUSER")
    defer { _ = try? database.run("DROP ROLE \(role)") }
    try database.run("ALTER ROLE \(role) SET \(setting)")
    let error = #expect(throws: StoreError.self) { try open(address(as: role)) }
    #expect(error?.code == .inaccessible)
    #expect(error?.message.contains(word) ?? false)
  }

  /// Else a COMMIT whose wait for a standby was cancelled would look like any other.
  @Test func `a role that hears no warnings makes no COMMIT count that came back with one`() throws
  {
    let role = "r\(UUID().uuidString.lowercased().prefix(8))"
    try database.run("CREATE ROLE \(role) LOGIN SUPERUSER")
    defer { _ = try? database.run("DROP ROLE \(role)") }
    try database.run("ALTER ROLE \(role) SET client_min_messages = error")
    let store = try open(address(as: role))
    try database.warnAtCommit(of: "space")
    let error = #expect(throws: PostgreSQLError.self) { try store.update(.home) { _ in } }
    #expect(error?.isUnknown ?? false)
    store.close()
  }

  @Test func `an operation that lost its bytes is named, and not passed`() throws {
    let store = try database.open()
    let service = SpaceService(store: store, clock: HandClock().clock)
    var ada = Author(1)
    _ = try service.push(ada.write(count: 3), to: .home)
    try database.run("DELETE FROM tern.operation_bytes WHERE position = 2")
    let error = #expect(throws: StoreError.self) { try everything(service) }
    #expect(error?.code == .damaged && error?.message.contains("at 2") ?? false)
    for table in ["operation_bytes", "operation", "head", "author", "space"] {
      try database.run("DELETE FROM tern.\(table)")
    }
  }

  @Test func `a database that stops taking writes is asked anew, over another connection`() throws {
    let store = try database.open { $0.connections = 1 }
    // As a primary does that became a standby, and kept its sessions.
    try store.update(.home) {
      let transaction = try #require($0 as? PostgreSQLSpaceTransaction)
      _ = try transaction.db.run("SET SESSION default_transaction_read_only = on")
    }
    let error = #expect(throws: PostgreSQLError.self) { try store.update(.home) { _ in } }
    #expect(error?.state == "25006" && error?.isOfDisk ?? false)
    try store.update(.home) { _ in }
  }

  @Test func `maintenance leaves a space to the process that is at it`() throws {
    let (one, two) = (try database.open(), try database.open(seed: 2))
    try one.update(.home) { _ in }
    try one.update(.home) { _ in
      let reached = try two.updateUnlessLocked(.home) { _ in true }
      let service = SpaceService(store: two, clock: two.clock)
      let hasMore = try SpaceMaintenance(service: service).runUnlessLocked(.home)
      #expect(reached == nil && hasMore == nil)
    }
    #expect(try two.updateUnlessLocked(.home) { _ in true } == true)
    #expect(try two.updateUnlessLocked(.work) { _ in true } == nil)
    #expect(try two.spaces() == [.home])
  }

  @Test func `time is the database's, whatever this machine's clock says`() throws {
    let behind = HandClock()
    let address = try #require(TestDatabase.address)
    var generator = SeededGenerator(state: 1)
    let store = try PostgreSQLSpaceStore(
      address, schema: database.schema, limits: PostgreSQLLimits(), clock: behind.clock, probe: nil,
      using: &generator)
    try store.update(.home) { _ in }
    let database = try #require(
      try store.run("SELECT \(DatabaseClock.now)").first?.integer(0))
    #expect(abs(store.clock.nowMilliseconds - database) < 60_000)
    // It is read again with each push, and with the heads.
    behind.now += 3_600_000
    #expect(store.clock.nowMilliseconds - database > 3_000_000)
    var ada = Author(1, milliseconds: store.clock.nowMilliseconds - 7_200_000)
    _ = try SpaceService(store: store, clock: store.clock).push(ada.write(count: 1), to: .home)
    #expect(abs(store.clock.nowMilliseconds - database) < 60_000)
    behind.now += 3_600_000
    _ = try store.heads(of: [.home])
    #expect(abs(store.clock.nowMilliseconds - database) < 60_000)
  }

  @Test func `a schema's name is quoted, and a database that is not there is an error`() throws {
    let address = try #require(TestDatabase.address)
    let other = "\(database.schema) \"quoted\""
    let store = try open(address, schema: other)
    defer { _ = try? database.run("DROP SCHEMA \(store.schema.quoted) CASCADE") }
    #expect(try store.spaces() == [])
    let error = #expect(throws: PostgreSQLError.self) {
      try open(address.replacing("/postgres?", with: "/nowhere?"))
    }
    #expect(error?.message.contains("nowhere") ?? false)
  }

  @Test func `a space that another process has locked is busy for a time that is bounded`() throws {
    let (one, two) = (
      try database.open(), try database.open { $0.lockTimeout = .milliseconds(50) }
    )
    let error = #expect(throws: PostgreSQLError.self) {
      try one.update(.home) { _ in
        // Another space is free meanwhile.
        try two.update(.work) { _ in }
        try two.update(.home) { _ in }
      }
    }
    #expect(error?.state == "55P03")
    try two.update(.home) { _ in }
  }

  @Test func `a process that stops in the middle of a transaction blocks nobody for long`() throws {
    let stopped = try database.open { $0.idleTimeout = .milliseconds(500) }
    let other = try database.open()
    let error = #expect(throws: PostgreSQLError.self) {
      try stopped.update(.home) { rows in
        try rows.add(
          TokenRecord(
            digest: TokenDigest(token: "t"), space: .home, created: Date(milliseconds: 1)))
        // real time: the database measures how long nothing is said.
        Thread.sleep(forTimeInterval: 1)
        try other.update(.home) { _ in }
        try rows.set(SpaceQuota(bytes: 1))
      }
    }
    #expect(error != nil)
    #expect(try other.tokens().isEmpty && other.usage(of: .home).quota == SpaceQuota())
    // Its connection is gone, and the next transaction has another.
    try stopped.update(.home) { try $0.set(SpaceQuota(bytes: 2)) }
    #expect(try other.usage(of: .home).quota.bytes == 2)
  }

  @Test func `no more transactions have a connection than there are`() throws {
    let store = try database.open {
      $0.connections = 1
      $0.patience = .seconds(5)
      $0.repetitions = 0
    }
    let error = #expect(throws: PostgreSQLError.self) {
      try store.update(.home) { _ in _ = try store.position(of: .home) }
    }
    #expect(error?.message == "all connections are in use")
    #expect(try store.position(of: .home) == 0)
    store.close()
    #expect(throws: PostgreSQLError.self) { try store.position(of: .home) }
  }

  @Test func `many processes and threads fill one space without a hole`() async throws {
    let database = database
    let clock = HandClock()
    let services = try (0..<3).map { _ in
      SpaceService(store: try database.open(), clock: clock.clock)
    }
    try await withThrowingTaskGroup { group in
      for writer in 0..<6 {
        group.addTask {
          var author = Author(UInt64(writer) + 1)
          for _ in 0..<20 {
            _ = try services[writer % 3].push(author.write(count: 2, bytes: 10), to: .home)
          }
        }
      }
      try await group.waitForAll()
    }
    let all = try everything(services[0])
    #expect(all.count == 240 && Set(all).count == 240)
    #expect(try services.map { try $0.store.position(of: .home) } == [240, 240, 240])
  }

  @Test func `a restarted database is found again`() throws {
    let store = try database.open()
    try store.update(.home) { _ in }
    try database.run(
      """
      SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity
      WHERE query LIKE '%\(database.schema)%' AND pid <> pg_backend_pid()
      """)
    #expect(try store.spaces() == [.home])
  }
}
#endif
