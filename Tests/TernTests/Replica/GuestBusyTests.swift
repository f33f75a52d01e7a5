import Foundation
import GRDB
import Tern
import TestDevice
import TestProcesses
import Testing

/// Another process writes, as a widget does, and the app's database waits for nobody.
@Suite("Replica: a database that another process writes to", .timeLimit(.minutes(1)))
struct GuestBusyTests {
  private static let schema = SyncSchema(version: 1, tables: [SyncTable("book")])

  private static func migrate(_ db: Database) throws {
    try db.execute(sql: "CREATE TABLE IF NOT EXISTS book (isbn TEXT NOT NULL PRIMARY KEY)")
  }

  /// What takes the write lock by itself.
  enum Step: CaseIterable { case open, write, seal, merge, undo }

  @Test(arguments: Step.allCases, ["WAL", "DELETE"])
  func `a step of the replica waits until it has written`(_ step: Step, _ journal: String)
    async throws
  {
    try await inTemporaryFolder { folder in
      let database = try DatabaseQueue(path: folder + "/a.sqlite")
      try await database.writeWithoutTransaction { db in
        _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = \(journal)")
      }
      let device = try Device(Self.schema, id: 1, database: database, migrate: Self.migrate)
      let other = try Device(Self.schema, id: 2, migrate: Self.migrate)
      try other.commit("INSERT INTO book VALUES ('theirs')")
      try device.commit("INSERT INTO book VALUES ('own')")
      try device.execute("INSERT INTO book VALUES ('noted')")
      var configuration = Configuration()
      configuration.allowsUnsafeTransactions = true
      let writer = try DatabaseQueue(path: folder + "/a.sqlite", configuration: configuration)
      try await writer.writeWithoutTransaction { db in
        try db.beginTransaction(.immediate)
      }
      // What waits for nobody is refused.
      #expect(throws: DatabaseError.self) { try device.execute("DELETE FROM book") }
      @Sendable func end() async throws {
        // real time: only SQLite knows that it waits, and it tells nobody.
        try await Task.sleep(for: .milliseconds(200))
        try await writer.writeWithoutTransaction { try $0.commit() }
      }
      async let ended: Void = end()
      switch step {
      case .open:
        _ = try Device(database, Self.schema, id: 1)
      case .write:
        try device.store.write { try $0.execute(sql: "INSERT INTO book VALUES ('new')") }
      case .seal: #expect(try device.store.seal().count == 1)
      case .merge: try device.pull(from: other)
      case .undo: #expect(try device.store.undo()?.rows.count == 1)
      }
      try await ended
      // And again the app's own writes are what the app has made them.
      try await writer.writeWithoutTransaction { try $0.beginTransaction(.immediate) }
      #expect(throws: DatabaseError.self) { try device.execute("DELETE FROM book") }
      try await writer.writeWithoutTransaction { try $0.rollback() }
    }
  }
}
