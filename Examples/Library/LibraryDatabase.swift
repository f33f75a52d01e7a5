import ExampleService
import GRDB
import Tern

extension SyncSchema {
  /// Everything that Tern has to know of this app: which tables sync, and what isn't last-writer.
  static let library = SyncSchema(
    version: 1,
    tables: [
      SyncTable("shelf"),
      SyncTable(
        "book", merge: ["timesScanned": .counter, "confidence": .max], local: ["thumbnailPath"]),
    ])
}

/// The app's own database, as it would be without Tern: a pool, migrations, a full-text index.
enum LibraryDatabase {
  static func open(_ path: String) async throws -> Replica {
    var configuration = Configuration()
    // `library edit` commits while `library sync` does.
    configuration.busyMode = .timeout(10)
    PrivateFile.make(path)
    let pool = try DatabasePool(path: path, configuration: configuration)
    return try await Replica.open(pool, schema: .library, migrator: migrator)
  }

  private static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("books") { db in
      try db.create(table: "shelf") { table in
        table.primaryKey("id", .text)
        table.column("name", .text).notNull()
      }
      try db.create(table: "book") { table in
        table.primaryKey("isbn", .text)
        table.column("isbn13", .text)
        table.column("authors", .text).notNull()
        table.column("year", .integer)
        table.column("title", .text).notNull()
        table.column("language", .text)
        table.column("averageRating", .double)
        table.column("imageURL", .text)
        table.column("rating", .integer).check { $0 >= 1 && $0 <= 5 }
        table.column("shelf", .text).references("shelf", onDelete: .setNull)
        table.column("timesScanned", .integer).notNull().defaults(to: 0)
        table.column("confidence", .double).notNull().defaults(to: 0)
        table.column("thumbnailPath", .text)
      }
      // Kept by triggers on the table, which fire for what Tern merges as for what the app writes.
      try db.create(virtualTable: "bookText", using: FTS5()) { table in
        table.synchronize(withTable: "book")
        table.column("title")
        table.column("authors")
      }
    }
    return migrator
  }
}

struct Shelf: Codable, PersistableRecord {
  var id: String
  var name: String
}

struct Book: Codable, FetchableRecord, PersistableRecord {
  var isbn: String
  var isbn13: String?
  var authors: String
  var year: Int?
  var title: String
  var language: String?
  var averageRating: Double?
  var imageURL: String?
  var rating: Int?
  var shelf: String?
  var timesScanned = 0
  var confidence = 0.0
  var thumbnailPath: String?
}
