import Foundation
import GRDB
import Tern

extension SyncSchema {
  /// Books meet; photographs and what became of them stay on the device that took them.
  static let scan = SyncSchema(
    version: 1,
    tables: [SyncTable("book", merge: ["timesScanned": .counter, "confidence": .max])])
}

/// The app's own database, and the two things that Tern makes of it: a replica and a job queue.
struct ScanDatabase: Sendable {
  let pool: DatabasePool
  let replica: Replica
  let jobs: JobQueue

  static func open(_ path: String, pause: Duration) async throws -> ScanDatabase {
    let pool = try DatabasePool(path: path)
    let replica = try await Replica.open(pool, schema: .scan, migrator: migrator)
    let jobs = try await JobQueue.open(pool, environment: JobEnvironment(gateDelay: pause))
    return ScanDatabase(pool: pool, replica: replica, jobs: jobs)
  }

  private static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("books") { db in
      try db.create(table: "book") { table in
        table.primaryKey("isbn", .text)
        table.column("title", .text).notNull().defaults(to: "")
        table.column("author", .text)
        table.column("coverURL", .text)
        table.column("format", .text)
        table.column("enrichment", .text)
        table.column("confidence", .double).notNull().defaults(to: 0)
        table.column("timesScanned", .integer).notNull().defaults(to: 0)
        table.column("isReviewed", .boolean).notNull().defaults(to: false)
      }
      try db.create(virtualTable: "bookText", using: FTS5()) { table in
        table.synchronize(withTable: "book")
        table.column("title")
        table.column("author")
      }
      try db.create(table: "scan") { table in
        table.primaryKey("id", .text)
        table.column("name", .text).notNull()
        table.column("job", .integer).notNull()
        table.column("phase", .text).notNull().defaults(to: "waiting")
        // Set while a photo is on its way; how often nobody learned what became of it there.
        table.column("isSending", .boolean).notNull().defaults(to: false)
        table.column("timesLost", .integer).notNull().defaults(to: 0)
        table.column("warnings", .integer).notNull().defaults(to: 0)
      }
      // What a scan has counted: an event that comes twice is one find.
      try db.create(table: "find", options: .withoutRowID) { table in
        table.column("scan", .text).notNull().references("scan", onDelete: .cascade)
        table.column("isbn", .text).notNull()
        table.primaryKey(["scan", "isbn"])
      }
      try db.create(table: "setting") { table in
        table.primaryKey("name", .text)
        table.column("value", .text).notNull()
      }
    }
    return migrator
  }
}

struct Book: Codable, FetchableRecord, PersistableRecord, Sendable {
  var isbn: String
  var title: String
  var author: String?
  var coverURL: String?
  var format: String?
  var enrichment: String?
  var confidence = 0.0
  var timesScanned = 0
  var isReviewed = false

  /// Below this a person should look.
  static let sureConfidence = 0.8

  var needsReview: Bool { confidence < Self.sureConfidence && !isReviewed }
}

enum Setting: String {
  case deviceID, quota

  func value(in db: Database) throws -> String? {
    try String.fetchOne(db, sql: "SELECT value FROM setting WHERE name = ?", arguments: [rawValue])
  }

  func set(_ value: String, in db: Database) throws {
    try db.execute(
      sql: "INSERT OR REPLACE INTO setting VALUES (?, ?)", arguments: [rawValue, value])
  }
}

extension ScanDatabase {
  /// The same for the life of the installation: the service counts by it.
  func deviceID() async throws -> String {
    try await pool.write { db in
      if let id = try Setting.deviceID.value(in: db) { return id }
      let id = UUID().uuidString.lowercased()
      try Setting.deviceID.set(id, in: db)
      return id
    }
  }
}
