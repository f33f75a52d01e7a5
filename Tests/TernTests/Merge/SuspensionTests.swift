import Foundation
import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE parent (id TEXT NOT NULL PRIMARY KEY, name TEXT);
  CREATE TABLE child (id TEXT NOT NULL PRIMARY KEY, parent TEXT REFERENCES parent);
  CREATE TABLE event (what TEXT);
  """
private let schema = SyncSchema(version: 1, tables: [SyncTable("parent"), SyncTable("child")])

/// An app that iOS suspends while its database is being written to, with a journal that is not WAL.
@Suite("Merge: a database that iOS suspends", .serialized)
struct SuspensionTests {
  private let folder: URL
  private let database: DatabaseQueue

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "tern-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    var configuration = Configuration()
    configuration.observesSuspensionNotifications = true
    configuration.prepareDatabase { db in
      db.add(
        function: DatabaseFunction("suspend", argumentCount: 0) { _ in
          Self.suspend()
          return nil
        })
    }
    database = try DatabaseQueue(
      path: folder.appending(path: "app.sqlite").path, configuration: configuration)
  }

  private static func suspend() {
    NotificationCenter.default.post(name: Database.suspendNotification, object: nil)
  }

  private static func resume() {
    NotificationCenter.default.post(name: Database.resumeNotification, object: nil)
  }

  private func expectEnforced() throws {
    #expect(try database.read { try Bool.fetchOne($0, sql: "PRAGMA foreign_keys") } == true)
    #expect(throws: DatabaseError.self) {
      try database.write { try $0.execute(sql: "INSERT INTO child VALUES ('x', 'nobody')") }
    }
  }

  @Test func `foreign keys are on again after a merge that was suspended`() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let a = try Device(schema, id: 1, database: database) { try $0.execute(sql: creation) }
    let b = try Device(schema, id: 2) { try $0.execute(sql: creation) }
    try b.commit("INSERT INTO parent VALUES ('p', 'P'); INSERT INTO child VALUES ('c', 'p')")
    try a.execute(
      "CREATE TRIGGER soon AFTER INSERT ON child BEGIN INSERT INTO event SELECT suspend(); END")
    #expect(throws: DatabaseError.self) { try a.pull(from: b) }
    Self.resume()
    try a.execute("DROP TRIGGER soon")
    try expectEnforced()
    try a.pull(from: b)
    try expectEqual(a, b, "parent", "child")
  }

  @Test func `foreign keys are on again after an opening that was suspended`() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try database.write { try $0.execute(sql: creation) }
    #expect(throws: DatabaseError.self) {
      try Replica.openBlocking(
        database, schema: schema,
        makeID: {
          Self.suspend()
          return ReplicaID(high: 0, low: 1)
        })
    }
    Self.resume()
    try expectEnforced()
    _ = try Device(schema, id: 1, database: database)
  }
}
