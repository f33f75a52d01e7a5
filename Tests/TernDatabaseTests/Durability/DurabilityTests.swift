import Foundation
import GRDB
import TestProcesses
import Testing

@testable import TernDatabase

/// `PRAGMA synchronous`: 1 is NORMAL, 2 FULL and 3 EXTRA.
@Suite("Durability: settings of a connection")
struct DurabilityTests {
  @Test("a DatabasePool's writer is at NORMAL until a durability is applied")
  func pool() throws {
    try withTemporaryFolder { folder in
      var configuration = Configuration()
      configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA synchronous = FULL") }
      let pool = try DatabasePool(path: folder + "/pool", configuration: configuration)
      #expect(try synchronous(of: pool) == 1, "the pool undoes what prepareDatabase had set")
      try Durability.processCrash.apply(to: pool)
      #expect(try synchronous(of: pool) == 1)
      try Durability.powerLoss.apply(to: pool)
      #expect(try synchronous(of: pool) == 2)
    }
  }

  @Test("a DatabaseQueue with a rollback journal syncs its directory too, for power loss")
  func queue() throws {
    try withTemporaryFolder { folder in
      let queue = try DatabaseQueue(path: folder + "/queue")
      try Durability.processCrash.apply(to: queue)
      #expect(try synchronous(of: queue) == 2)
      try Durability.powerLoss.apply(to: queue)
      #expect(try synchronous(of: queue) == 3)
    }
  }

  @Test("a DatabaseQueue in WAL mode is as a pool")
  func queueInWALMode() throws {
    try withTemporaryFolder { folder in
      var configuration = Configuration()
      configuration.journalMode = .wal
      let queue = try DatabaseQueue(path: folder + "/queue", configuration: configuration)
      try Durability.powerLoss.apply(to: queue)
      #expect(try synchronous(of: queue) == 2)
    }
  }

  @Test("applying again, also after writing, changes nothing", arguments: Durability.allCases)
  func again(durability: Durability) throws {
    try withTemporaryFolder { folder in
      let pool = try DatabasePool(path: folder + "/pool")
      try durability.apply(to: pool)
      let before = try synchronous(of: pool)
      try pool.write { db in try db.execute(sql: "CREATE TABLE note (text TEXT)") }
      try durability.apply(to: pool)
      #expect(try synchronous(of: pool) == before)
    }
  }

  @Test("the writer asks for Apple's full sync at checkpoints, for power loss at commits too")
  func fullSync() throws {
    try withTemporaryFolder { folder in
      let pool = try DatabasePool(path: folder + "/pool")
      try Durability.processCrash.apply(to: pool)
      #expect(try number("PRAGMA fullfsync", of: pool) == 0)
      #expect(try number("PRAGMA checkpoint_fullfsync", of: pool) == 1)
      try Durability.powerLoss.apply(to: pool)
      #expect(try number("PRAGMA fullfsync", of: pool) == 1)
      #expect(try number("PRAGMA checkpoint_fullfsync", of: pool) == 1)
    }
  }

  @Test("a lower durability than was promised is refused by name, on that connection alone")
  func lower() throws {
    try withTemporaryFolder { folder in
      let pool = try DatabasePool(path: folder + "/pool")
      try Durability.powerLoss.apply(to: pool)
      let error = try #require(throws: DatabaseSetupError.self) {
        try Durability.processCrash.apply(to: pool)
      }
      #expect(error.code == .lowerDurability)
      #expect(!error.isTransient)
      #expect(try synchronous(of: pool) == 2)
      #expect(try number("PRAGMA fullfsync", of: pool) == 1)
      // Nobody promised anything of another connection, nor of one that is made later.
      try Durability.processCrash.apply(to: DatabaseQueue(path: folder + "/pool"))
      try pool.close()
      try Durability.processCrash.apply(to: DatabasePool(path: folder + "/pool"))
    }
  }

  @Test("a database in memory is left as it is", arguments: Durability.allCases)
  func memory(durability: Durability) throws {
    let queue = try DatabaseQueue()
    let before = try synchronous(of: queue)
    try durability.apply(to: queue)
    #expect(try synchronous(of: queue) == before)
  }

  @Test("a database that is open for reading only is refused, and the error says so")
  func readOnly() throws {
    try withTemporaryFolder { folder in
      let path = folder + "/queue"
      try DatabaseQueue(path: path).close()
      var configuration = Configuration()
      configuration.readonly = true
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      let error = try #require(throws: DatabaseSetupError.self) {
        try Durability.powerLoss.apply(to: queue)
      }
      #expect(error.code == .readOnly)
      #expect(!error.isTransient)
      #expect(error.description.hasPrefix("\(path) is open for reading only"))
    }
  }

  @Test("a journal that survives no crash is refused", arguments: ["MEMORY", "OFF"])
  func journal(mode: String) throws {
    try withTemporaryFolder { folder in
      let queue = try DatabaseQueue(path: folder + "/queue")
      try queue.writeWithoutTransaction { db in
        try db.execute(sql: "PRAGMA journal_mode = \(mode)")
      }
      let error = try #require(throws: DatabaseSetupError.self) {
        try Durability.processCrash.apply(to: queue)
      }
      #expect(error.code == .journalNotDurable)
    }
  }

  @Test("a transaction that was left open is an error with SQLite's reason")
  func openTransaction() throws {
    try withTemporaryFolder { folder in
      var configuration = Configuration()
      configuration.allowsUnsafeTransactions = true
      let queue = try DatabaseQueue(path: folder + "/queue", configuration: configuration)
      try queue.writeWithoutTransaction { db in try db.beginTransaction() }
      let error = try #require(throws: DatabaseSetupError.self) {
        try Durability.powerLoss.apply(to: queue)
      }
      #expect(error.code == .durabilityNotApplied)
      #expect(error.underlyingError is DatabaseError)
    }
  }

  @Test(
    "what another connection or a suspension prevented can succeed later, and nothing else",
    arguments: [
      (ResultCode.SQLITE_BUSY, true), (.SQLITE_LOCKED, true), (.SQLITE_ABORT, true),
      (.SQLITE_INTERRUPT, true), (.SQLITE_ERROR, false), (.SQLITE_IOERR, false),
    ])
  func transient(_ code: ResultCode, _ isTransient: Bool) {
    let error = DatabaseSetupError(
      .durabilityNotApplied, database: "", underlyingError: DatabaseError(resultCode: code))
    #expect(error.isTransient == isTransient)
  }

  private func synchronous(of writer: some DatabaseWriter) throws -> Int? {
    try number("PRAGMA synchronous", of: writer)
  }

  private func number(_ sql: String, of writer: some DatabaseWriter) throws -> Int? {
    try writer.writeWithoutTransaction { db in try Int.fetchOne(db, sql: sql) }
  }
}
