import ExampleService
import Foundation
import GRDB
import Tern
import TernJobs

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

  static func open(_ path: String, pause: Duration = .seconds(30)) async throws -> ScanDatabase {
    var configuration = Configuration()
    // `scan run` commits while another command does.
    configuration.busyMode = .timeout(10)
    // It holds the tokens of jobs.
    PrivateFile.make(path)
    let pool = try DatabasePool(path: path, configuration: configuration)
    let replica = try await Replica.open(pool, schema: .scan, migrator: migrator)
    let jobs = try await JobQueue.open(pool, environment: JobEnvironment(gateDelay: pause))
    return ScanDatabase(pool: pool, replica: replica, jobs: jobs)
  }

  private static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("books") { db in
      try db.execute(sql: tables)
      // The same for the life of the installation: the service counts by it.
      try db.execute(
        sql: "INSERT INTO device (id) VALUES (?)", arguments: [UUID().uuidString.lowercased()])
    }
    // In seconds since 1970, when `quota` is whole again.
    migrator.registerMigration("quota") {
      try $0.execute(sql: "ALTER TABLE device ADD COLUMN quotaEnds INTEGER")
    }
    return migrator
  }

  private static let tables = """
    CREATE TABLE book (
      isbn TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL DEFAULT '', author TEXT, coverURL TEXT,
      format TEXT, enrichment TEXT, confidence DOUBLE NOT NULL DEFAULT 0,
      timesScanned INTEGER NOT NULL DEFAULT 0, isReviewed BOOLEAN NOT NULL DEFAULT FALSE);

    -- By the book's own key: a VACUUM may number the rows of `book` anew.
    CREATE VIRTUAL TABLE bookText USING fts5(isbn, title, author);
    CREATE TRIGGER bookInserted AFTER INSERT ON book BEGIN
      INSERT INTO bookText VALUES (new.isbn, new.title, new.author);
    END;
    CREATE TRIGGER bookDeleted AFTER DELETE ON book BEGIN
      DELETE FROM bookText WHERE isbn = old.isbn
        AND bookText MATCH 'isbn: "' || replace(old.isbn, '"', '') || '"';
    END;
    CREATE TRIGGER bookUpdated AFTER UPDATE OF isbn, title, author ON book BEGIN
      UPDATE bookText SET isbn = new.isbn, title = new.title, author = new.author
      WHERE isbn = old.isbn AND bookText MATCH 'isbn: "' || replace(old.isbn, '"', '') || '"';
    END;

    -- `id` is the job's. `phase` is what the job does not know: 'uploading' from before the photo's
    -- first byte until the service has answered, 'elsewhere' after somebody else did, and 'analysing'
    -- from then on. `timesLost` is how often nobody learned what became of an upload.
    CREATE TABLE scan (
      id INTEGER PRIMARY KEY, name TEXT NOT NULL, phase TEXT NOT NULL DEFAULT 'waiting',
      timesLost INTEGER NOT NULL DEFAULT 0, warnings INTEGER NOT NULL DEFAULT 0);
    -- What a scan has counted: an event that comes twice is one find.
    CREATE TABLE find (scan INTEGER NOT NULL, isbn TEXT NOT NULL, PRIMARY KEY (scan, isbn));
    CREATE TABLE device (id TEXT NOT NULL, quota TEXT);
    """
}

struct Book: Codable, FetchableRecord, PersistableRecord, Sendable {
  var isbn: String
  var title = ""
  var author, coverURL, format, enrichment: String?
  var confidence = 0.0
  var timesScanned = 0
  var isReviewed = false

  /// Below 80 % a person should look.
  var needsReview: Bool { confidence < 0.8 && !isReviewed }
}
