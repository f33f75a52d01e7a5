import ExampleService
import Foundation
import GRDB
import Tern
import TernJobs

extension SyncSchema {
  /// What a person said, kept and chose. Answers stand beside their questions, so that taking back a
  /// question is not kept from it by the answer that came.
  static let translate = SyncSchema(
    version: 1,
    tables: ["conversation", "phrase", "answer", "favorite", "setting"].map { SyncTable($0) })
}

/// The app's own database, and the two things that Tern makes of it: a replica and a job queue.
struct TranslateDatabase: Sendable {
  let pool: DatabasePool
  let replica: Replica
  let jobs: JobQueue

  static func open(_ path: String, pause: Duration = .seconds(30)) async throws
    -> TranslateDatabase
  {
    var configuration = Configuration()
    // `translate run` commits while another command does.
    configuration.busyMode = .timeout(10)
    // What somebody wants to have translated is theirs.
    PrivateFile.make(path)
    let pool = try DatabasePool(path: path, configuration: configuration)
    let replica = try await Replica.open(pool, schema: .translate, migrator: migrator)
    // No text ends the program that sends it, however often that dies on the way.
    var limits = JobLimits()
    limits.deaths = 1000
    let jobs = try await JobQueue.open(
      pool, limits: limits, environment: JobEnvironment(gateDelay: pause))
    return TranslateDatabase(pool: pool, replica: replica, jobs: jobs)
  }

  private static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("translations") { try $0.execute(sql: tables) }
    migrator.registerMigration("local") { try $0.execute(sql: local) }
    // Where a question that waits is to go, null for what the settings say; and the job that asks it,
    // of the first for each service.
    migrator.registerMigration("services") { db in
      for column in ["service TEXT", "model TEXT", "job INTEGER"] {
        try db.execute(sql: "ALTER TABLE waiting ADD COLUMN \(column)")
      }
      try db.execute(sql: "ALTER TABLE asker ADD COLUMN process INTEGER NOT NULL DEFAULT 0")
    }
    migrator.registerMigration("models") { try $0.execute(sql: models) }
    migrator.registerMigration("search") { try $0.execute(sql: search) }
    // Null where it is not known: what was failed before came from the answers, and so with those of
    // other devices.
    migrator.registerMigration("origins") {
      try $0.execute(sql: "ALTER TABLE failed ADD COLUMN isOwn BOOLEAN")
    }
    // At which services' addresses something else answers, and since when, in seconds since 1970.
    migrator.registerMigration("strangers") { db in
      try db.execute(
        sql: "CREATE TABLE stranger (service TEXT NOT NULL PRIMARY KEY, since INTEGER NOT NULL)")
    }
    return migrator
  }

  /// No delete trigger tells of the row that an `INSERT OR REPLACE` takes away, so that words of what
  /// stood there are looked for whenever others come. Found are then those that are there now, once.
  private static var search: String {
    func index(_ table: String, _ key: String) -> String {
      let replacing = """
        BEGIN
          DELETE FROM words WHERE phrase = new.\(key) AND kind = '\(table)'
            AND words MATCH 'phrase: "' || replace(new.\(key), '"', '') || '"';
          INSERT INTO words SELECT new.\(key), '\(table)', new.text WHERE new.text IS NOT NULL;
        END;
        """
      return """
        DROP TRIGGER \(table)Words;
        DROP TRIGGER IF EXISTS \(table)NewWords;
        CREATE TRIGGER \(table)Words AFTER INSERT ON \(table) \(replacing)
        CREATE TRIGGER \(table)NewWords AFTER UPDATE OF text ON \(table) \(replacing)
        INSERT INTO words SELECT \(key), '\(table)', text FROM \(table) WHERE text IS NOT NULL;
        """
    }
    return "DELETE FROM words; \(index("phrase", "id")) \(index("answer", "phrase"))"
  }

  /// A model belongs to the service, which is this device's own. What a setting of this device was
  /// before its last change, null for none, stays until something else was done. And of the questions
  /// that ended here without a translation it stays where they went.
  private static let models = """
    INSERT OR IGNORE INTO localSetting SELECT name, value FROM setting WHERE name = 'model';
    CREATE TABLE localUndo (name TEXT NOT NULL PRIMARY KEY, value TEXT);
    CREATE TABLE failed (phrase TEXT NOT NULL PRIMARY KEY, service TEXT, model TEXT);
    INSERT INTO failed (phrase) SELECT phrase FROM answer WHERE problem IS NOT NULL;
    CREATE TRIGGER failedGone AFTER DELETE ON phrase BEGIN
      DELETE FROM failed WHERE phrase = old.id;
    END;
    -- What syncs is written over where it stands.
    CREATE TRIGGER answerNewWords AFTER UPDATE OF text ON answer BEGIN
      DELETE FROM words WHERE phrase = old.phrase AND kind = 'answer'
        AND words MATCH 'phrase: "' || replace(old.phrase, '"', '') || '"';
      INSERT INTO words SELECT new.phrase, 'answer', new.text WHERE new.text IS NOT NULL;
    END;
    """

  /// All of it stays on this device: whose answers are not to be trimmed, since when, in seconds since
  /// 1970; and what is chosen for this device alone.
  private static let local = """
    CREATE TABLE asker (conversation TEXT NOT NULL PRIMARY KEY, since INTEGER NOT NULL);
    CREATE TABLE localSetting (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);
    INSERT INTO localSetting SELECT name, value FROM setting WHERE name = 'service';
    """

  private static let tables = """
    -- Whose turn it is: the far side's, or the one that holds the device.
    CREATE TABLE conversation (
      id TEXT NOT NULL PRIMARY KEY, near TEXT NOT NULL, far TEXT NOT NULL,
      isFarsTurn BOOLEAN NOT NULL DEFAULT FALSE, startedAt INTEGER NOT NULL);

    -- `askedAt` is microseconds since 1970, and on one device greater than all before: the order.
    CREATE TABLE phrase (
      id TEXT NOT NULL PRIMARY KEY, conversation TEXT NOT NULL, source TEXT NOT NULL,
      target TEXT NOT NULL, text TEXT NOT NULL, askedAt INTEGER NOT NULL);
    CREATE INDEX phraseByTime ON phrase (askedAt);

    -- Either `text` or `problem`; `source` is the language that was found.
    CREATE TABLE answer (
      phrase TEXT NOT NULL PRIMARY KEY, text TEXT, source TEXT, engine TEXT, confidence DOUBLE,
      alternatives TEXT NOT NULL DEFAULT '[]', isOffline BOOLEAN NOT NULL DEFAULT FALSE,
      problem TEXT, detail TEXT);

    CREATE TABLE favorite (
      source TEXT NOT NULL, target TEXT NOT NULL, text TEXT NOT NULL, translation TEXT NOT NULL,
      addedAt INTEGER NOT NULL, PRIMARY KEY (source, target, text));

    -- A row for each, so that a device's first choice brings no other along.
    CREATE TABLE setting (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);

    -- What follows stays on this device. `waiting` are its own questions without an answer, in
    -- order: of the first for each service there is a job.
    CREATE TABLE waiting (place INTEGER PRIMARY KEY AUTOINCREMENT, phrase TEXT NOT NULL UNIQUE);
    CREATE TRIGGER phraseGone AFTER DELETE ON phrase BEGIN
      DELETE FROM waiting WHERE phrase = old.id;
    END;

    CREATE TABLE cache (
      number INTEGER PRIMARY KEY, text TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL,
      model TEXT NOT NULL, translation TEXT NOT NULL, UNIQUE (text, source, target, model));

    CREATE VIRTUAL TABLE words USING fts5(
      phrase, kind UNINDEXED, text, tokenize = "unicode61 remove_diacritics 2");
    CREATE TRIGGER phraseWords AFTER INSERT ON phrase BEGIN
      INSERT INTO words VALUES (new.id, 'phrase', new.text);
    END;
    CREATE TRIGGER phraseNoWords AFTER DELETE ON phrase BEGIN
      DELETE FROM words WHERE phrase = old.id AND kind = 'phrase'
        AND words MATCH 'phrase: "' || replace(old.id, '"', '') || '"';
    END;
    CREATE TRIGGER answerWords AFTER INSERT ON answer WHEN new.text IS NOT NULL BEGIN
      INSERT INTO words VALUES (new.phrase, 'answer', new.text);
    END;
    CREATE TRIGGER answerNoWords AFTER DELETE ON answer BEGIN
      DELETE FROM words WHERE phrase = old.phrase AND kind = 'answer'
        AND words MATCH 'phrase: "' || replace(old.phrase, '"', '') || '"';
    END;
    """
}
