import Foundation
import GRDB
import Tern
import TestDevice
import Testing

private let schema = SyncSchema(version: 1, tables: [SyncTable("parent"), SyncTable("child")])
private let creation = """
  CREATE TABLE parent (id TEXT NOT NULL PRIMARY KEY, name);
  CREATE TABLE child (
    id TEXT NOT NULL PRIMARY KEY, parent TEXT NOT NULL REFERENCES parent, name);
  """

/// A device in a file that another program can lock.
private final class Shared: Sendable {
  let folder: URL
  let device: Device
  private let other: DatabaseQueue

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "tern-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let path = folder.appending(path: "app.sqlite").path
    var configuration = Configuration()
    configuration.busyMode = .timeout(0.1)
    let database = try DatabasePool(path: path, configuration: configuration)
    device = try Device(schema, id: 1, database: database) { try $0.execute(sql: creation) }
    configuration.allowsUnsafeTransactions = true
    other = try DatabaseQueue(path: path, configuration: configuration)
  }

  deinit {
    try? FileManager.default.removeItem(at: folder)
  }

  func lock() {
    #expect(throws: Never.self) {
      try other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
    }
  }

  func unlock() throws {
    try other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
  }

  /// Another program takes the lock as soon as the next commit lets it go.
  func lockBehindCommit(_ db: Database) {
    db.afterNextTransaction { [self] _ in lock() }
  }
}

/// Another program takes the lock as soon as the commit of a change lets it go.
private final class LockBehindChange: TransactionObserver {
  private(set) var isLocked = false
  private let shared: Shared
  private var hasChanged = false

  init(_ shared: Shared) { self.shared = shared }

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
    eventKind.tableName == "parent"
  }
  func databaseDidChange() { hasChanged = true }
  func databaseDidChange(with event: DatabaseEvent) { hasChanged = true }
  func databaseDidRollback(_ db: Database) { hasChanged = false }

  func databaseDidCommit(_ db: Database) {
    guard hasChanged, !isLocked else { return }
    isLocked = true
    shared.lock()
  }
}

/// A commit is not said to have failed because of what follows it.
@Suite("Settlement: settling that fails after a commit")
struct SettlementFailureTests {
  /// Quarantines a row whose parent another device deleted.
  private func shared() throws -> Shared {
    let shared = try Shared()
    let (a, b) = (shared.device, try Device(schema, id: 2) { try $0.execute(sql: creation) })
    try a.execute("INSERT INTO parent VALUES ('p', 'P')")
    try meet(a, b)
    try a.commit("INSERT INTO child VALUES ('c', 'p', 'C')")
    try b.commit("DELETE FROM parent")
    try a.pull(from: b)
    #expect(try a.store.counts().quarantined == 1)
    return shared
  }

  private func expectSettled(_ shared: Shared) throws {
    let store = shared.device.store
    #expect(try store.counts().quarantined == 1)
    #expect(try store.hasNews())
    #expect(throws: DatabaseError.self) { try store.seal() }
    try shared.unlock()
    #expect(try store.hasNews())
    try store.seal()
    #expect(try store.counts().quarantined == 0)
    #expect(try !store.hasNews())
    #expect(try shared.device.column("SELECT name FROM child") == ["C"])
  }

  @Test func `a write returns when its commit did, and the next seal settles`() throws {
    let shared = try shared()
    try shared.device.store.write { db in
      try db.execute(sql: "INSERT INTO parent VALUES ('p', 'again')")
      shared.lockBehindCommit(db)
    }
    try expectSettled(shared)
    #expect(try shared.device.column("SELECT name FROM parent") == ["again"])
  }

  @Test func `a restored entry is out of the inbox, and the next seal settles`() throws {
    let shared = try shared()
    let (a, b) = (shared.device, try Device(schema, id: 3) { try $0.execute(sql: creation) })
    try meet(a, b)
    try a.commit("INSERT INTO parent VALUES ('q', 'Q')")
    try meet(a, b)
    try b.commit("UPDATE parent SET name = 'from b' WHERE id = 'q'")
    try a.commit("UPDATE parent SET name = 'from a' WHERE id = 'q'")
    try a.pull(from: b)
    let entries = try a.database.read { try a.replica.inbox(in: $0) }
    let entry = try #require(entries.first { $0.key == ["q"] })
    try a.store.seal()
    // In one transaction with the restored value comes what the held row waits for.
    try a.execute(
      """
      CREATE TRIGGER again AFTER UPDATE ON parent BEGIN
        INSERT OR IGNORE INTO parent VALUES ('p', 'again');
      END
      """)
    let lock = LockBehindChange(shared)
    a.database.add(transactionObserver: lock)
    try a.store.restore(entry)
    #expect(lock.isLocked)
    let left = try a.database.read { try a.replica.inbox(in: $0) }
    #expect(!left.contains { $0.id == entry.id })
    try expectSettled(shared)
  }

  @Test func `what a seal in the app's own transaction releases is settled by the next one`() throws
  {
    let shared = try shared()
    let a = shared.device
    try a.database.write { db in
      try a.replica.writeWithoutUndo(in: db) {
        try $0.execute(sql: "INSERT INTO parent VALUES ('p', 'again')")
      }
    }
    #expect(try a.store.counts().quarantined == 1)
    #expect(try a.store.hasNews())
    try a.store.seal()
    #expect(try a.store.counts().quarantined == 0)
    #expect(try !a.store.hasNews())
  }

  @Test func `a seal of nothing waits for no lock, and one of a write does`() async throws {
    let shared = try Shared()
    shared.lock()
    #expect(try await shared.device.replica.seal().isEmpty)
    #expect(try await shared.device.replica.stateDigests().count == 2)
    #expect(try await shared.device.replica.history("parent", key: ["p"]).changes.isEmpty)
    try shared.unlock()
    try shared.device.execute("INSERT INTO parent VALUES ('p', 'n')")
    shared.lock()
    await #expect(throws: DatabaseError.self) { try await shared.device.replica.seal() }
    try shared.unlock()
    #expect(try await shared.device.replica.seal() == 1..<2)
  }
}
