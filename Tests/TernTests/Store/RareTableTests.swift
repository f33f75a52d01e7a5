import GRDB
import TernCore
import TestDevice
import TestProcesses
import Testing

@testable import Tern

private let creation = "CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL)"
private let schema = SyncSchema(version: 1, tables: [SyncTable("note", merge: ["body": .text])])

private struct Thrown: Error {}

/// A table that is there or is not, with the statements of every kind about it.
private struct Trial {
  let connection: StoreConnection
  let table: RareTable

  init(_ transaction: StoreTransaction, _ name: String) {
    connection = transaction.connection
    table = transaction.tables.rare.all.first { $0.name == transaction.tables.prefix + name }!
  }

  private var column: Substring { table.columns[0].prefix { $0 != " " } }

  func count() throws -> Int { try connection.count(table.name) }

  func expectCount(_ count: Int) throws { #expect(try self.count() == count) }
  func expectAbsent() throws {
    try expectCount(0)
    #expect(try !connection.isThere(table.name))
  }

  func add() throws {
    let values = table.columns.map {
      $0.contains("INTEGER") ? "7" : $0.contains("TEXT") ? "'7'" : "x'07'"
    }
    try connection.statement(
      "INSERT INTO \(table.name) SELECT \(values.joined(separator: ", ")) "
        + "WHERE NOT EXISTS (SELECT 1 FROM \(table.name))"
    ).run()
  }

  /// Statements of which each changes so many rows.
  func expectChanged(_ count: Int) throws {
    let update = try connection.statement("UPDATE \(table.name) SET \(column) = ? WHERE 1 = ?")
    update.bindAll(8, 1)
    try update.run()
    #expect(update.changeCount == count)
    let delete = try connection.statement("DELETE FROM \(table.name) WHERE 2 = ?")
    delete.bindAll(2)
    try delete.run()
    #expect(delete.changeCount == count)
  }
}

@Suite("Store: tables that come with their first row")
struct RareTableTests {
  static let names = RareTables(prefix: "").all.map(\.name)

  private func device(_ database: (any DatabaseWriter)? = nil) throws -> Device {
    try Device(database ?? DatabaseQueue(), schema, id: 1, migrator: .steps([creation]))
  }

  private func write<T>(_ device: Device, _ name: String, _ body: (Trial) throws -> T) throws -> T {
    try device.store.access.write { try body(Trial($0, name)) }
  }

  @Test(arguments: names)
  func `a second view of a transaction that is rolled back leaves no statement of it behind`(
    _ name: String
  ) throws {
    let device = try device()
    #expect(throws: Thrown.self) {
      try device.store.access.write { transaction in
        let other = try StoreTransaction(
          transaction.db, tables: transaction.tables, sql: transaction.sql)
        try Trial(other, name).add()
        // This one still remembers what it prepares.
        try Trial(transaction, name).expectCount(1)
        throw Thrown()
      }
    }
    try write(device, name) { try $0.expectAbsent() }
  }

  @Test(arguments: names)
  func `one reads as empty, and the first row makes it`(_ name: String) throws {
    let device = try device()
    // Twice, because the second finds its statements prepared.
    for _ in 0..<2 {
      try write(device, name) { trial in
        try trial.expectChanged(0)
        try trial.expectAbsent()
      }
    }
    try write(device, name) { trial in
      try trial.add()
      try trial.expectCount(1)
    }
    #expect(try device.rareTables() == [name])
    #expect(try device.store.access.read { try Trial($0, name).count() } == 1)
    try write(device, name) { trial in
      try trial.expectChanged(1)
      try trial.expectCount(0)
    }
    #expect(try device.rareTables() == [name])
  }

  @Test(arguments: names)
  func `one that a rollback took away is made again`(_ name: String) throws {
    let device = try device()
    try write(device, name) { try $0.expectCount(0) }
    for _ in 0..<2 {
      #expect(throws: Thrown.self) {
        try write(device, name) { trial in
          try trial.add()
          try trial.expectCount(1)
          throw Thrown()
        }
      }
      try write(device, name) { try $0.expectAbsent() }
    }
    try write(device, name) { try $0.add() }
    try write(device, name) { try $0.expectCount(1) }
  }

  @Test(arguments: names)
  func `so is one that a savepoint took away, in the same transaction`(_ name: String) throws {
    let device = try device()
    let other = Self.names.first { $0 != name }!
    try device.store.access.write { transaction in
      let trial = Trial(transaction, name)
      try transaction.db.inSavepoint {
        try trial.add()
        return .rollback
      }
      // SQLite's number of the schema comes again.
      try Trial(transaction, other).add()
      try trial.expectAbsent()
      try trial.add()
      try trial.expectCount(1)
    }
    let made = Set(try device.rareTables())
    #expect(made == [name, other])
  }

  @Test(arguments: names)
  func `one that another connection made is seen at once`(_ name: String) throws {
    try withTemporaryFolder { folder in
      let first = try device(DatabasePool(path: "\(folder)/app.sqlite"))
      let second = try device(DatabasePool(path: "\(folder)/app.sqlite"))
      try write(first, name) { try $0.expectAbsent() }
      try write(second, name) { try $0.add() }
      #expect(try first.store.access.read { try Trial($0, name).count() } == 1)
      try write(first, name) { trial in
        try trial.expectCount(1)
        try trial.expectChanged(1)
      }
      try write(second, name) { try $0.expectCount(0) }
    }
  }

  @Test func `an app that is erased has none again, in another opening of the file too`() throws {
    try withTemporaryFolder { folder in
      let first = try device(DatabasePool(path: "\(folder)/app.sqlite"))
      try first.makeRareTables()
      try write(first, "kept") { try $0.add() }
      var migrator = DatabaseMigrator()
      migrator.eraseDatabaseOnSchemaChange = true
      migrator.registerMigration("other") {
        try $0.execute(sql: creation + "; CREATE TABLE x (y)")
      }
      let second = try Device(
        DatabasePool(path: "\(folder)/app.sqlite"), schema, id: 2, migrator: migrator)
      #expect(try second.rareTables() == [])
      try write(second, "kept") { try $0.expectCount(0) }
      try write(first, "kept") { try $0.expectCount(0) }
    }
  }

  /// "abab" with an "ab" in its middle: the difference would be at an end.
  private func saveDraft(_ device: Device, in db: Database) throws {
    var draft = try #require(try device.replica.draft("note", key: ["1"], column: "body", in: db))
    draft.insert("ab", at: 2)
    #expect(try device.replica.save(&draft, in: db))
  }

  @Test(arguments: [true, false])
  func `the first draft is saved and sealed in one transaction of the app's`(_ isRolledBack: Bool)
    throws
  {
    let (a, b) = try Device.pair(schema, creation)
    try a.execute("INSERT INTO note VALUES ('1', 'abab')")
    try meet(a, b)
    #expect(try a.rareTables() == [])
    if isRolledBack {
      #expect(throws: Thrown.self) {
        try a.database.write { db in
          try saveDraft(a, in: db)
          throw Thrown()
        }
      }
    }
    try a.store.write { try saveDraft(a, in: $0) }
    #expect(try a.rareTables() == ["splice"])
    try b.execute("UPDATE note SET body = 'ab|ab'")
    try meet(a, b)
    let text = try a.column("SELECT body FROM note")
    #expect(text == ["abab|ab"] || text == ["ab|abab"])
    try expectEqual(a, b, "note")
  }

  @Test func `an app's trigger is known again behind a rollback that took a table away`() throws {
    let device = try device()
    #expect(throws: Thrown.self) {
      try device.store.access.write { transaction in
        try Trial(transaction, "kept").add()
        try transaction.triggers.merging {}
        throw Thrown()
      }
    }
    // The number of the schema is the one of the transaction that was rolled back.
    try device.execute(
      """
      CREATE TRIGGER again AFTER INSERT ON note BEGIN
        UPDATE note SET body = 'of the trigger' WHERE id = NEW.id; END
      """)
    let fresh = try Device(DatabaseQueue(), schema, id: 3, migrator: .steps([creation]))
    try fresh.commit("INSERT INTO note VALUES ('3', 'y')")
    try device.pull(from: fresh)
    #expect(try device.column("SELECT body FROM note") == ["y"])
  }
}
