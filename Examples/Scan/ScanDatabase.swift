import ExampleService
import Foundation
import GRDB
import RecognizerKit
import Tern
import TernJobs

extension SyncSchema {
  /// Books meet; photographs and what became of them stay on the device that took them.
  static let scan = SyncSchema(
    version: 2,
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

  static var migrator: DatabaseMigrator {
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
    // `addedMilliseconds` is since 1970, and 0 for a book from before. `key` is what whoever sends a
    // photo calls it, so that one whose answer was lost is sent again and accepted once.
    migrator.registerMigration("page") {
      try $0.execute(
        sql: """
          ALTER TABLE book ADD COLUMN addedMilliseconds INTEGER NOT NULL DEFAULT 0;
          ALTER TABLE scan ADD COLUMN key TEXT;
          CREATE UNIQUE INDEX scanKey ON scan (key);
          CREATE TABLE preview (scan INTEGER PRIMARY KEY, jpeg BLOB NOT NULL);
          """)
    }
    migrator.registerMigration("search") { try $0.execute(sql: search) }
    // What somebody types at first is the beginning of many words.
    migrator.registerMigration("prefixes") {
      try $0.execute(
        sql: """
          DROP TABLE bookText;
          CREATE VIRTUAL TABLE bookText USING fts5(isbn, title, author, prefix = '1 2');
          INSERT INTO bookText (rowid, isbn, title, author)
            SELECT number, isbn, title, author FROM book JOIN bookNumber USING (isbn);
          """)
    }
    return migrator
  }

  private static let tables = """
    CREATE TABLE book (
      isbn TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL DEFAULT '', author TEXT, coverURL TEXT,
      format TEXT, enrichment TEXT, confidence DOUBLE NOT NULL DEFAULT 0,
      timesScanned INTEGER NOT NULL DEFAULT 0, isReviewed BOOLEAN NOT NULL DEFAULT FALSE);

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

  /// What a page shows of all books that have a word is found without the text of each.
  private static let search = """
    -- By the book's own key: a VACUUM may number the rows of `book` anew.
    CREATE TABLE bookNumber (number INTEGER PRIMARY KEY, isbn TEXT NOT NULL UNIQUE);
    INSERT INTO bookNumber (isbn) SELECT isbn FROM book;
    DELETE FROM bookText;
    INSERT INTO bookText (rowid, isbn, title, author)
      SELECT number, isbn, title, author FROM book JOIN bookNumber USING (isbn);
    CREATE INDEX bookAdded ON book (addedMilliseconds DESC, title, isbn);

    DROP TRIGGER bookInserted;
    DROP TRIGGER bookDeleted;
    DROP TRIGGER bookUpdated;
    -- What a REPLACE removed fired no trigger.
    CREATE TRIGGER bookInserted AFTER INSERT ON book BEGIN
      DELETE FROM bookText WHERE rowid = (SELECT number FROM bookNumber WHERE isbn = new.isbn);
      DELETE FROM bookNumber WHERE isbn = new.isbn;
      INSERT INTO bookNumber (isbn) VALUES (new.isbn);
      INSERT INTO bookText (rowid, isbn, title, author)
        SELECT number, new.isbn, new.title, new.author FROM bookNumber WHERE isbn = new.isbn;
    END;
    CREATE TRIGGER bookDeleted AFTER DELETE ON book BEGIN
      DELETE FROM bookText WHERE rowid = (SELECT number FROM bookNumber WHERE isbn = old.isbn);
      DELETE FROM bookNumber WHERE isbn = old.isbn;
    END;
    CREATE TRIGGER bookUpdated AFTER UPDATE OF isbn, title, author ON book BEGIN
      UPDATE bookNumber SET isbn = new.isbn WHERE isbn = old.isbn;
      UPDATE bookText SET isbn = new.isbn, title = new.title, author = new.author
        WHERE rowid = (SELECT number FROM bookNumber WHERE isbn = new.isbn);
    END;
    """
}

extension ScanDatabase {
  static let mostPhotoBytes = 50 << 20

  /// Takes a photo. It is safe when this returns, and scanned when there is a worker.
  ///
  /// - Parameters:
  ///   - given: what it is called, where its file's name says nothing.
  ///   - key: of one that may have been taken before.
  /// - Throws: ``UnfitPicture``, `JobQueueError`, `DatabaseError`.
  @discardableResult
  func accept(_ file: URL, named given: String? = nil, key: String? = nil) async throws -> JobID {
    // Not decoded, which could take long, or all memory.
    _ = try PictureHeader(ofFileAt: file.path, named: given, mostBytes: Self.mostPhotoBytes)
    let name = given ?? file.lastPathComponent
    let photo = try await jobs.attach(copyOf: file, as: ScanShelf.taken)
    return try await pool.write { db in
      let known = try Int64.fetchOne(db, sql: "SELECT id FROM scan WHERE key = ?", arguments: [key])
      if let known { return JobID(rawValue: known) }
      let job = try jobs.enqueue(ScanShelf(), files: [photo], in: db)
      try db.execute(
        sql: "INSERT INTO scan (id, name, key) VALUES (?, ?, ?)",
        arguments: [job.rawValue, name, key])
      return job
    }
  }

  /// Forgets a photo, whatever became of it. What works on it notices, and stores nothing more.
  func forget(_ scan: Int64, in db: Database) throws {
    try jobs.remove(JobID(rawValue: scan), in: db)
    try db.execute(sql: "DELETE FROM find WHERE scan = ?", arguments: [scan])
    try db.execute(sql: "DELETE FROM preview WHERE scan = ?", arguments: [scan])
    try db.execute(sql: "DELETE FROM scan WHERE id = ?", arguments: [scan])
  }

  /// A small picture of a photo, made once.
  ///
  /// - Returns: `nil` for a photo that is done, and of which none was made before.
  func preview(of scan: Int64) async throws -> Data? {
    let (known, photo) = try await pool.read { db in
      let id = JobID(rawValue: scan)
      return (
        try Data.fetchOne(db, sql: "SELECT jpeg FROM preview WHERE scan = ?", arguments: [scan]),
        try jobs.file(ScanShelf.prepared, of: id, in: db)
          ?? jobs.file(ScanShelf.taken, of: id, in: db)
      )
    }
    guard known == nil, let photo else { return known }
    let jpeg = try await PictureHeader.small(photo, longestSide: 640)
    try await pool.write { db in
      try db.execute(
        sql: "INSERT OR IGNORE INTO preview SELECT id, ? FROM scan WHERE id = ?",
        arguments: [jpeg, scan])
    }
    return jpeg
  }
}

struct Book: Codable, FetchableRecord, PersistableRecord, Sendable {
  var isbn: String
  var title = ""
  var author, coverURL, format, enrichment: String?
  var confidence = 0.0
  var timesScanned = 0
  var isReviewed = false
  var addedMilliseconds: Int64 = 0

  /// Below 80 % a person should look.
  var needsReview: Bool { confidence < 0.8 && !isReviewed }
  static let toReview: SQL = "confidence < 0.8 AND NOT isReviewed"

  /// What `bookText` is asked for the books that have words with these beginnings.
  ///
  /// - Returns: `nil` for a text without a word.
  static func pattern(matching text: String) -> String? {
    // The key of a book without an ISBN has words in it, of which "title" is none of the book's.
    let columns = text.contains(where: \.isLetter) ? "title author" : "isbn title author"
    // GRDB's `FTS5Pattern` opens two databases in memory to make one, which takes longer than a search.
    let words = text.unicodeScalars.split {
      $0.isASCII && !$0.properties.isAlphabetic && $0.properties.numericType == nil
    }
    let beginnings = words.map { "\"\(String($0))\" *" }
    return beginnings.isEmpty ? nil : "{\(columns)} : (\(beginnings.joined(separator: " ")))"
  }
}
