import GRDB
import Tern
import TernTesting
import Testing

extension SyncSchema {
  static let library = SyncSchema(version: 1, tables: [SyncTable("book")])
}

extension DatabaseMigrator {
  static var library: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("books") { db in
      try db.execute(sql: "CREATE TABLE book (isbn TEXT NOT NULL PRIMARY KEY, title TEXT)")
    }
    return migrator
  }
}

/// One device of the guide's test, as an app's test has it: by what is public alone.
struct LibraryDevice {
  let database: DatabaseQueue
  let replica: Replica
  let engine: SyncEngine

  init(
    _ remote: any Remote, _ environment: SyncEnvironment = SyncEnvironment()
  ) async throws {
    database = try DatabaseQueue()
    replica = try await Replica.open(database, schema: .library, migrator: .library)
    engine = SyncEngine(replica, remote: remote, environment: environment)
  }
}

@Test func `what one device writes is on the other`() async throws {
  let remote = MemoryRemote()
  let phone = try await LibraryDevice(remote)
  let tablet = try await LibraryDevice(remote)

  try await phone.database.write { db in
    try db.execute(sql: "INSERT INTO book VALUES ('9780441172719', 'Dune')")
  }
  try await phone.engine.syncOnce()
  try await tablet.engine.syncOnce()

  let title = try await tablet.database.read { db in
    try String.fetchOne(db, sql: "SELECT title FROM book")
  }
  #expect(title == "Dune")
  let state = try await phone.replica.stateDigests()
  #expect(try await tablet.replica.stateDigests() == state)
}

@Suite("Replica: digests of the state, and sealing")
struct ReplicaStateTests {
  @Test func `a state's digests differ by what was written, sealed or not`() async throws {
    let remote = MemoryRemote()
    let (phone, tablet) = (try await LibraryDevice(remote), try await LibraryDevice(remote))
    #expect(try await phone.replica.id() != tablet.replica.id())
    let empty = try await phone.replica.stateDigests()
    #expect(Set(empty.keys) == ["book"])
    #expect(try await tablet.replica.stateDigests() == empty)
    try await phone.database.write { db in
      try db.execute(sql: "INSERT INTO book VALUES ('1', 'Emma')")
    }
    #expect(try await phone.replica.stateDigests() != empty)
    // What the digests sealed is no news.
    #expect(try await phone.replica.seal().isEmpty)
    #expect(try await phone.replica.counts().unsealedChanges == 0)
  }

  @Test func `sealing makes one operation of all that was noted`() async throws {
    let device = try await LibraryDevice(MemoryRemote())
    for number in 1...3 {
      try await device.database.write { db in
        try db.execute(sql: "INSERT INTO book VALUES (?, 'Emma')", arguments: ["\(number)"])
      }
    }
    #expect(try await device.replica.counts().unsealedChanges == 3)
    #expect(try await device.replica.seal() == 1..<2)
    #expect(try await device.replica.seal().isEmpty)
  }
}
