import ExampleService
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

  static func open(_ path: String) async throws -> TranslateDatabase {
    var configuration = Configuration()
    // `translate run` commits while another command does.
    configuration.busyMode = .timeout(10)
    // What somebody wants to have translated is theirs.
    PrivateFile.make(path)
    let pool = try DatabasePool(path: path, configuration: configuration)
    var migrator = DatabaseMigrator()
    migrator.registerMigration("questions") { try $0.execute(sql: tables) }
    let replica = try await Replica.open(pool, schema: .translate, migrator: migrator)
    var limits = JobLimits()
    // No text ends the program that sends it, however often that dies on the way.
    limits.deaths = 1000
    // What there is of an answer is its job's message.
    limits.messageLength = 100_000
    let jobs = try await JobQueue.open(pool, limits: limits)
    return TranslateDatabase(pool: pool, replica: replica, jobs: jobs)
  }

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

    -- A question and what came of it.
    CREATE VIEW entry AS SELECT phrase.id, conversation, phrase.source AS "from", target AS "to",
        phrase.text, answer.text AS translation, engine, problem, detail, answer.source AS found,
        confidence, alternatives, isOffline, askedAt,
        CASE WHEN answer.phrase IS NULL THEN 'waiting' WHEN answer.text IS NULL THEN 'failed'
          ELSE 'done' END AS state
      FROM phrase LEFT JOIN answer ON answer.phrase = phrase.id;

    CREATE TABLE favorite (
      source TEXT NOT NULL, target TEXT NOT NULL, text TEXT NOT NULL, translation TEXT NOT NULL,
      addedAt INTEGER NOT NULL, PRIMARY KEY (source, target, text));

    -- A row for each, so that a device's first choice brings no other along.
    CREATE TABLE setting (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);

    -- What follows stays on this device: its own choices; its own questions without a translation,
    -- in order, of which those that are over ended with a problem; and what it was told before.
    CREATE TABLE localSetting (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE asked (
      place INTEGER PRIMARY KEY AUTOINCREMENT, phrase TEXT NOT NULL UNIQUE,
      isOver BOOLEAN NOT NULL DEFAULT FALSE);
    CREATE TABLE cache (
      number INTEGER PRIMARY KEY, text TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL,
      model TEXT NOT NULL, translation TEXT NOT NULL, UNIQUE (text, source, target, model));
    """
}
