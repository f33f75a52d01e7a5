import GRDB

/// The tables of a queue in the app's database. Their names begin as GRDB wants it of what is not
/// the app's schema, and no replica's can begin like them.
enum JobTables {
  static let format = 2

  static let queue = "grdb_tern_jobqueue"
  static let job = "grdb_tern_job"
  static let checkpoint = "grdb_tern_jobcheckpoint"
  static let file = "grdb_tern_jobfile"
  static let gate = "grdb_tern_jobgate"
  static let pause = "grdb_tern_jobpause"
  static let error = "grdb_tern_joberror"
  /// For the app to look at; everything else is the queue's own.
  static let view = "grdb_tern_jobs"

  /// The payload is last, so that who looks at the rest of a row reads no more of it.
  /// `job.service` is empty for no service. A waiting job is `due` once its time has come. The order
  /// of claiming is (priority, ready_ms, id) among those of one service and kind, so that retried
  /// and new jobs take turns. `queue.unfinished` counts what has not ended. `pause.kind` is empty for
  /// the whole queue.
  static let creation = [
    """
    CREATE TABLE IF NOT EXISTS \(queue) (
      one INTEGER PRIMARY KEY CHECK (one = 1), format INTEGER NOT NULL, id TEXT NOT NULL,
      unfinished INTEGER NOT NULL)
    """,
    """
    CREATE TABLE IF NOT EXISTS \(job) (
      id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, service TEXT NOT NULL,
      state INTEGER NOT NULL, since_ms INTEGER NOT NULL,
      ready_ms INTEGER NOT NULL, starts INTEGER NOT NULL, failures INTEGER NOT NULL,
      unreached INTEGER NOT NULL, enqueued_ms INTEGER NOT NULL, progress REAL, message TEXT,
      reason TEXT, priority INTEGER NOT NULL, due INTEGER NOT NULL, deaths INTEGER NOT NULL,
      version INTEGER NOT NULL, unique_key TEXT, payload BLOB NOT NULL)
    """,
    index("due", "service, kind, priority DESC, ready_ms, id", isDue),
    index("later", "ready_ms, service", isLater),
    index("running", "id", "state = \(JobState.running.rawValue)"),
    index("ended", "since_ms, id", hasEnded),
    index("parked", "id", "state = \(JobState.parked.rawValue)"),
    index("unique", "unique_key, kind", "unique_key IS NOT NULL AND \(isUnderWay)"),
    """
    CREATE INDEX IF NOT EXISTS grdb_tern_jobunreached ON \(job) (id)
    WHERE state = \(JobState.waiting.rawValue) AND unreached > 0
    """,
    """
    CREATE TABLE IF NOT EXISTS \(error) (
      id INTEGER PRIMARY KEY, job INTEGER NOT NULL, start INTEGER NOT NULL, at_ms INTEGER NOT NULL,
      reason TEXT NOT NULL)
    """,
    "CREATE INDEX IF NOT EXISTS grdb_tern_joberrors ON \(error) (job, id)",
    "CREATE TABLE IF NOT EXISTS \(pause) (kind TEXT NOT NULL PRIMARY KEY, since_ms INTEGER NOT NULL)",
    """
    CREATE TABLE IF NOT EXISTS \(checkpoint) (
      job INTEGER NOT NULL, kind INTEGER NOT NULL, name TEXT NOT NULL, content BLOB NOT NULL,
      PRIMARY KEY (job, kind, name)) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS \(file) (
      job INTEGER NOT NULL, name TEXT NOT NULL, path TEXT NOT NULL UNIQUE,
      PRIMARY KEY (job, name))
    """,
    // With a rowid, so that GRDB observes it.
    """
    CREATE TABLE IF NOT EXISTS \(gate) (
      service TEXT NOT NULL PRIMARY KEY, since_ms INTEGER NOT NULL, reopens_ms INTEGER NOT NULL,
      probe INTEGER)
    """,
    """
    CREATE VIEW IF NOT EXISTS \(view) AS SELECT
      j.id, j.kind, nullif(j.service, '') AS service,
      CASE j.state \(JobState.allCases.map { "WHEN \($0.rawValue) THEN '\($0)'" }
        .joined(separator: " ")) END AS state,
      j.reason, j.priority, j.starts, j.failures, j.progress, j.message,
      \(time("j.enqueued_ms")) AS enqueued_at, \(time("j.since_ms")) AS since,
      CASE j.state WHEN \(JobState.waiting.rawValue) THEN \(time("j.ready_ms")) END AS ready_at,
      \(time("g.reopens_ms")) AS gate_reopens_at,
      EXISTS (SELECT 1 FROM \(pause) AS p WHERE p.kind IN ('', j.kind)) AS is_paused
    FROM \(job) AS j LEFT JOIN \(gate) AS g ON g.service = j.service
    """,
  ]

  // Whoever looks for such jobs says it in these words, so that SQLite takes the index.
  static let isDue = "state = \(JobState.waiting.rawValue) AND due = 1"
  static let isLater = "state = \(JobState.waiting.rawValue) AND due = 0"
  static let hasEnded = "state IN (\(JobState.done.rawValue), \(JobState.cancelled.rawValue))"
  static let isUnderWay = """
    state IN (\(JobState.waiting.rawValue), \(JobState.running.rawValue), \(JobState.parked.rawValue))
    """

  private static func index(_ name: String, _ columns: String, _ condition: String) -> String {
    "CREATE INDEX IF NOT EXISTS grdb_tern_job\(name) ON \(job) (\(columns)) WHERE \(condition)"
  }

  private static func time(_ column: String) -> String {
    "strftime('%Y-%m-%dT%H:%M:%fZ', \(column) / 1000.0, 'unixepoch')"
  }

  /// Makes the tables where they are missing.
  ///
  /// - Parameter makeID: draws the queue's id on the first open, and after an app erased its
  ///   database.
  /// - Returns: the queue's id.
  static func install(_ db: Database, makeID: () -> String) throws -> String {
    if try db.tableExists(queue),
      let format = try Int.fetchOne(db, sql: "SELECT format FROM \(queue)"),
      format != Self.format
    {
      throw format > Self.format
        ? JobQueueError(
          .newerFormat, "the job queue was made by a newer Tern (format \(format)); update the app")
        : JobQueueError(
          .olderFormat,
          "the job queue was made by a Tern before the first release (format \(format)); finish its "
            + "jobs with that, or drop the tables that begin with grdb_tern_job")
    }
    for statement in creation { try db.execute(sql: statement) }
    try db.execute(
      sql: "INSERT INTO \(queue) VALUES (1, ?, ?, 0) ON CONFLICT DO NOTHING",
      arguments: [format, makeID()])
    return try String.fetchOne(db, sql: "SELECT id FROM \(queue)")!
  }
}
