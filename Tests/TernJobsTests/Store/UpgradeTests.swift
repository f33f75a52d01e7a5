import Foundation
import GRDB
import Tern
import TernDatabase
import TernJobs
import TernTesting
import TestProcesses
import Testing

/// What an older Tern made.
@Suite("Store: queues that an older Tern made")
struct UpgradeTests {
  /// The tables of format 3, and in them a job that waits, one that runs, one that failed, a gate, an
  /// empty bucket and something that ended. Stays as it is.
  private static let format3 = """
    CREATE TABLE grdb_tern_jobqueue (
      one INTEGER PRIMARY KEY CHECK (one = 1), format INTEGER NOT NULL, id TEXT NOT NULL,
      unfinished INTEGER NOT NULL, ended INTEGER NOT NULL, worker INTEGER NOT NULL);
    CREATE TABLE grdb_tern_job (
      id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, service TEXT NOT NULL,
      lane TEXT NOT NULL, state INTEGER NOT NULL, since_ms INTEGER NOT NULL,
      ready_ms INTEGER NOT NULL, starts INTEGER NOT NULL, failures INTEGER NOT NULL,
      unreached INTEGER NOT NULL, enqueued_ms INTEGER NOT NULL, progress REAL, message TEXT,
      reason TEXT, priority INTEGER NOT NULL, due INTEGER NOT NULL, deaths INTEGER NOT NULL,
      version INTEGER NOT NULL, unique_key TEXT, payload BLOB NOT NULL);
    CREATE TABLE grdb_tern_jobhistory (
      id INTEGER PRIMARY KEY, kind TEXT NOT NULL, service TEXT NOT NULL, lane TEXT NOT NULL,
      state INTEGER NOT NULL, since_ms INTEGER NOT NULL, ready_ms INTEGER NOT NULL,
      starts INTEGER NOT NULL, failures INTEGER NOT NULL, enqueued_ms INTEGER NOT NULL,
      progress REAL, message TEXT, reason TEXT, priority INTEGER NOT NULL, unique_key TEXT);
    CREATE INDEX grdb_tern_jobended ON grdb_tern_jobhistory (since_ms, id);
    CREATE INDEX grdb_tern_jobdue ON grdb_tern_job (service, kind, lane, priority DESC, ready_ms, id)
      WHERE state = 0 AND due = 1;
    CREATE INDEX grdb_tern_joblater ON grdb_tern_job (ready_ms, service) WHERE state = 0 AND due = 0;
    CREATE INDEX grdb_tern_jobrunning ON grdb_tern_job (id) WHERE state = 1;
    CREATE INDEX grdb_tern_jobparked ON grdb_tern_job (id) WHERE state = 4;
    CREATE INDEX grdb_tern_jobunique ON grdb_tern_job (unique_key, kind)
      WHERE unique_key IS NOT NULL AND state IN (0, 1, 4);
    CREATE INDEX grdb_tern_jobunreached ON grdb_tern_job (id) WHERE state = 0 AND unreached > 0;
    CREATE TABLE grdb_tern_joberror (
      id INTEGER PRIMARY KEY, job INTEGER NOT NULL, start INTEGER NOT NULL, at_ms INTEGER NOT NULL,
      reason TEXT NOT NULL);
    CREATE INDEX grdb_tern_joberrors ON grdb_tern_joberror (job, id);
    CREATE TABLE grdb_tern_jobpause (kind TEXT NOT NULL PRIMARY KEY, since_ms INTEGER NOT NULL);
    CREATE TABLE grdb_tern_jobcheckpoint (
      job INTEGER NOT NULL, kind INTEGER NOT NULL, name TEXT NOT NULL, content BLOB NOT NULL,
      PRIMARY KEY (job, kind, name)) WITHOUT ROWID;
    CREATE TABLE grdb_tern_jobfile (
      job INTEGER NOT NULL, name TEXT NOT NULL, path TEXT NOT NULL UNIQUE, PRIMARY KEY (job, name));
    CREATE TABLE grdb_tern_jobgate (
      service TEXT NOT NULL PRIMARY KEY, since_ms INTEGER NOT NULL, reopens_ms INTEGER NOT NULL,
      probe INTEGER);
    CREATE TABLE grdb_tern_jobbucket (
      scope INTEGER NOT NULL, name TEXT NOT NULL, lane TEXT NOT NULL, since_ms INTEGER NOT NULL,
      full_us INTEGER NOT NULL, PRIMARY KEY (scope, name, lane)) WITHOUT ROWID;
    CREATE VIEW grdb_tern_jobs AS SELECT
      j.id, j.kind, j.state, g.reopens_ms AS gate_reopens_at
      FROM grdb_tern_job AS j LEFT JOIN grdb_tern_jobgate AS g ON g.service = j.service;
    INSERT INTO grdb_tern_jobqueue VALUES (1, 3, 'abc', 3, 1, 5);
    INSERT INTO grdb_tern_job VALUES
      (2, 'tidy', '', '', 0, 1000000000, 1000000000, 1, 0, 0, 900000000, NULL, NULL, NULL, 0, 1, 0, 1,
        'key', CAST('{"name":"waits"}' AS BLOB)),
      (5, 'tidy', '', 'a', 1, 1000000000, 1000000000, 3, 1, 0, 900000000, 0.5, 'half', NULL, 7, 1, 0,
        1, NULL, CAST('{"name":"runs"}' AS BLOB)),
      (6, 'scan', 'recogniser', '', 3, 1000000000, 1000000000, 4, 4, 0, 900000000, NULL, NULL, 'no', 0,
        1, 0, 1, NULL, CAST('{"shelf":"failed"}' AS BLOB));
    UPDATE sqlite_sequence SET seq = 41 WHERE name = 'grdb_tern_job';
    INSERT INTO grdb_tern_jobhistory VALUES
      (1, 'tidy', '', '', 2, 900000000, 900000000, 1, 0, 900000000, NULL, NULL, NULL, 0, NULL);
    INSERT INTO grdb_tern_jobcheckpoint VALUES (5, 0, 'first', CAST('"kept"' AS BLOB));
    INSERT INTO grdb_tern_joberror VALUES (1, 6, 4, 1000000000, 'no');
    INSERT INTO grdb_tern_jobgate VALUES ('recogniser', 1000000000, 1000005000, NULL);
    INSERT INTO grdb_tern_jobbucket VALUES (1, 'recogniser', '', 1000000000, 1000300000000);
    """

  private func withFormat3(_ body: (Rig, JobQueue, String) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let path = "\(folder)/app.sqlite"
      let database = try DatabaseQueue(path: path)
      try database.write { db in
        try db.execute(sql: Self.format3)
        try db.execute(sql: "CREATE TABLE book (title TEXT NOT NULL)")
      }
      let rig = try Rig(seed: 1, existing: database, folder: folder)
      rig.retryBudget = JobRate(1, per: .seconds(10), burst: 30)
      try body(rig, try rig.open(), path)
    }
  }

  @Test func `a queue of format 3 is taken over with all that it has`() throws {
    try withFormat3 { rig, queue, path in
      let records = try rig.database.read { try queue.records(in: $0) }
      #expect(records.map(\.id.rawValue) == [1, 2, 5, 6])
      #expect(records.map(\.state) == [.done, .waiting, .running, .failed])
      #expect(records.allSatisfy { $0.requirement == .nothing && $0.isRequirementMet })
      #expect(records[1].uniqueKey == "key" && records[2].lane == "a")
      #expect(records[2].message == "half" && records[2].priority == 7)
      // An older Tern that is at work sees that it was taken over from.
      let worker3 = try #require(
        Int64(Self.format3.firstMatch(of: /jobqueue VALUES .*, (\d+)\)/)!.1))
      let worker4 = try rig.database.read {
        try Int64.fetchOne($0, sql: "SELECT worker FROM grdb_tern_jobqueue")
      }
      #expect(worker4 == worker3 + 1)
      #expect(try DatabaseDiagnosis(path: path).findings.isEmpty)
      try rig.write { _ = try queue.retry(JobID(rawValue: 6), in: $0) }
      let worker = JobWorker(queue, concurrency: 1, path: rig.path) {
        $0.handle(Tidy.self) { job, context in
          let kept = try await context.step("first") { "new" }
          rig.note("\(job.name) \(context.idempotencyKey("x")) \(kept)")
        }
        $0.handle(Scan.self) { job, _ in rig.note(job.shelf) }
      }
      try rig.drain(worker, waiting: .seconds(60))
      #expect(
        rig.notes() == [
          "0 runs abc-5-900000000-x kept", "0 waits abc-2-900000000-x new",
          // Its gate reopens after 5 seconds; its service has failed too often until 10.
          "10 failed",
        ])
      // Never an id that was given.
      #expect(try rig.enqueue(queue, Tidy(name: "next")).rawValue == 42)
    }
  }

  private func shape(_ database: any DatabaseWriter) throws -> [String] {
    try database.read { db in
      let names = try String.fetchAll(
        db, sql: "SELECT name FROM sqlite_master WHERE name LIKE 'grdb_tern_job%' ORDER BY name")
      let others = try String.fetchAll(
        db,
        sql: """
          SELECT sql FROM sqlite_master
          WHERE name LIKE 'grdb_tern_job%' AND type <> 'table' AND sql IS NOT NULL ORDER BY name
          """
      ).map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
      let columns = try names.flatMap { name in
        try Row.fetchAll(
          db, sql: "SELECT name, type, [notnull], pk FROM pragma_table_info(?)",
          arguments: [name]
        ).map { "\(name) \($0[0] as String) \($0[1] as String) \($0[2] as Int) \($0[3] as Int)" }
      }
      return names + others + columns.sorted()
    }
  }

  @Test func `the tables and their indices are those of a new queue`() throws {
    try Rig.run { rig in
      _ = try rig.open()
      let new = try shape(rig.database)
      #expect(new.contains("grdb_tern_job"))
      try withFormat3 { old, _, _ in
        let upgraded = try shape(old.database)
        #expect(upgraded == new)
      }
    }
  }

  @Test func `a queue that does not tell which errors counted goes on, and all of those count`()
    throws
  {
    try Rig.run { rig in
      rig.limits.failedAttemptsPerJob = 4
      let before = try rig.open()
      let new = try shape(rig.database)
      let id = try rig.enqueue(before, Tidy(name: "a"))
      try rig.write { db in
        // As 0.1 had it first; it stays as it is.
        try db.execute(
          sql: """
            DROP TABLE grdb_tern_joberror;
            CREATE TABLE grdb_tern_joberror (
              id INTEGER PRIMARY KEY, job INTEGER NOT NULL, start INTEGER NOT NULL,
              at_ms INTEGER NOT NULL, reason TEXT NOT NULL);
            CREATE INDEX grdb_tern_joberrors ON grdb_tern_joberror (job, id);
            INSERT INTO grdb_tern_joberror VALUES (1, 1, 1, 1000000000, 'old')
            """)
      }
      let queue = try rig.open()
      #expect(try shape(rig.database) == new)
      // Who knows nothing of it writes on.
      try rig.write { db in
        try db.execute(
          sql: """
            INSERT INTO grdb_tern_joberror (job, start, at_ms, reason)
            VALUES (1, 2, 1000000001, 'older')
            """)
      }
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, _ in throw JobFailure(.unreachable, "nobody") }
      }
      try rig.live(worker, until: 100)
      let story = try rig.database.read { try queue.failedAttempts(of: id, in: $0) }
      #expect(story.map(\.reason) == ["old", "older", "nobody", "nobody"])
    }
  }

  @Test func `a queue that knows nothing of credentials goes on`() throws {
    try Rig.run { rig in
      let before = try rig.open()
      let new = try shape(rig.database)
      let id = try rig.enqueue(before, Scan(shelf: "a"))
      // As 0.1 had it first.
      try rig.write { try $0.execute(sql: "DROP TABLE grdb_tern_jobcredential") }
      try rig.database.read { db in
        var found: [DatabaseFinding] = []
        let isThere = try JobDiagnosis(db, Findings(limit: 9) { found.append($0) }).run()
        #expect(isThere && found.isEmpty)
      }
      let queue = try rig.open()
      #expect(try shape(rig.database) == new)
      let worker = JobWorker(queue) {
        $0.credential(for: Scan.self) { _, _ in nil }
        $0.handle(Scan.self) { _, context in _ = try await context.credential() }
      }
      try rig.live(worker, until: 10)
      #expect(try rig.record(queue, id).isCredentialRefused)
    }
  }

  @Test func `a queue from before is refused, and stays as it is`() throws {
    try withTemporaryFolder { folder in
      let database = try DatabaseQueue(path: "\(folder)/app.sqlite")
      try database.write { db in
        try db.execute(sql: Self.format3)
        try db.execute(sql: "UPDATE grdb_tern_jobqueue SET format = 2")
      }
      let before = try shape(database)
      let rig = try Rig(seed: 1, existing: database, folder: folder)
      let error = #expect(throws: JobQueueError.self) { try rig.open() }
      #expect(error?.code == .olderFormat)
      #expect(try shape(database) == before)
      #expect(before.contains { $0.hasPrefix("grdb_tern_job kind ") })
      #expect(!before.contains { $0.hasPrefix("grdb_tern_job needs ") })
    }
  }
}
