import GRDB

/// What a bucket of tokens is of. The raw values are stored.
enum BucketScope: Int {
  /// Of a kind's lane, or of a kind.
  case lane = 0
  /// The failures of a service.
  case service = 1
  /// How often another network restores those.
  case network = 2
}

/// The tables of a queue in the app's database. Their names begin as GRDB wants it of what is not
/// the app's schema, and no replica's can begin like them.
enum JobTables {
  static let format = 4

  static let queue = "grdb_tern_jobqueue"
  static let job = "grdb_tern_job"
  /// What ended: done or cancelled.
  static let history = "grdb_tern_jobhistory"
  static let checkpoint = "grdb_tern_jobcheckpoint"
  static let file = "grdb_tern_jobfile"
  static let gate = "grdb_tern_jobgate"
  static let pause = "grdb_tern_jobpause"
  static let error = "grdb_tern_joberror"
  static let bucket = "grdb_tern_jobbucket"
  /// What jobs require and was not there as the worker looked last.
  static let unmet = "grdb_tern_jobunmet"
  /// Lanes whose credential was refused.
  static let credential = "grdb_tern_jobcredential"
  /// For the app to look at; everything else is the queue's own.
  static let view = "grdb_tern_jobs"

  /// The payload is last, so that who looks at the rest of a row reads no more of it; in a file
  /// that was made in format 3 `needs` is behind it.
  /// `job.service` is empty for no service, and `job.lane` for no lane; `job.needs` is a
  /// `JobRequirement`. A waiting job is `due` once its time has come. The order of claiming is
  /// (priority, ready_ms, id) among those of one service, kind, lane and need, so that retried and
  /// new jobs take turns. What has ended is in `history` alone.
  /// `queue.unfinished` counts the jobs, `queue.ended` the history; `queue.worker` is drawn by each
  /// run of a worker, so that one that was taken over from notices. `pause.kind` is empty for the
  /// whole queue. A `bucket`, as it was at `since_ms`, is full again at `full_us`, microseconds;
  /// one that was empty has a token again at `free_ms`, which is for who looks. An `error` that
  /// `counts` was one attempt less for its job, or the last; see ``addCounts(_:)``. A `credential`
  /// has the ``CredentialMark`` of the one that was refused.
  static let creation = [
    """
    CREATE TABLE IF NOT EXISTS \(queue) (
      one INTEGER PRIMARY KEY CHECK (one = 1), format INTEGER NOT NULL, id TEXT NOT NULL,
      unfinished INTEGER NOT NULL, ended INTEGER NOT NULL, worker INTEGER NOT NULL)
    """,
    """
    CREATE TABLE IF NOT EXISTS \(job) (
      id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, service TEXT NOT NULL,
      lane TEXT NOT NULL, state INTEGER NOT NULL, since_ms INTEGER NOT NULL,
      ready_ms INTEGER NOT NULL, starts INTEGER NOT NULL, failures INTEGER NOT NULL,
      unreached INTEGER NOT NULL, enqueued_ms INTEGER NOT NULL, progress REAL, message TEXT,
      reason TEXT, priority INTEGER NOT NULL, due INTEGER NOT NULL, deaths INTEGER NOT NULL,
      version INTEGER NOT NULL, unique_key TEXT, needs TEXT NOT NULL, payload BLOB NOT NULL)
    """,
    """
    CREATE TABLE IF NOT EXISTS \(history) (
      id INTEGER PRIMARY KEY, kind TEXT NOT NULL, service TEXT NOT NULL, lane TEXT NOT NULL,
      state INTEGER NOT NULL, since_ms INTEGER NOT NULL, ready_ms INTEGER NOT NULL,
      starts INTEGER NOT NULL, failures INTEGER NOT NULL, enqueued_ms INTEGER NOT NULL,
      progress REAL, message TEXT, reason TEXT, priority INTEGER NOT NULL, unique_key TEXT)
    """,
    "CREATE INDEX IF NOT EXISTS grdb_tern_jobended ON \(history) (since_ms, id)",
    index("due", "service, kind, lane, needs, priority DESC, ready_ms, id", isDue),
    index("later", "ready_ms, service", isLater),
    index("running", "id", isRunning),
    index("parked", "id", "state = \(JobState.parked.rawValue)"),
    index("unique", "unique_key, kind", "unique_key IS NOT NULL AND \(isUnderWay)"),
    """
    CREATE INDEX IF NOT EXISTS grdb_tern_jobunreached ON \(job) (id)
    WHERE \(isWaiting) AND unreached > 0
    """,
    """
    CREATE TABLE IF NOT EXISTS \(error) (
      id INTEGER PRIMARY KEY, job INTEGER NOT NULL, start INTEGER NOT NULL, at_ms INTEGER NOT NULL,
      reason TEXT NOT NULL, counts INTEGER NOT NULL DEFAULT 1)
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
    CREATE TABLE IF NOT EXISTS \(bucket) (
      scope INTEGER NOT NULL, name TEXT NOT NULL, lane TEXT NOT NULL, since_ms INTEGER NOT NULL,
      full_us INTEGER NOT NULL, free_ms INTEGER, PRIMARY KEY (scope, name, lane)) WITHOUT ROWID
    """,
    "CREATE TABLE IF NOT EXISTS \(unmet) (needs TEXT NOT NULL PRIMARY KEY, since_ms INTEGER NOT NULL)",
    """
    CREATE TABLE IF NOT EXISTS \(credential) (
      kind TEXT NOT NULL, lane TEXT NOT NULL, since_ms INTEGER NOT NULL, refused INTEGER,
      is_held INTEGER NOT NULL, PRIMARY KEY (kind, lane))
    """,
    """
    CREATE VIEW IF NOT EXISTS \(view) AS SELECT
      \(viewed),
      CASE j.state WHEN \(JobState.waiting.rawValue) THEN \(time("j.ready_ms")) END AS ready_at,
      \(time("g.reopens_ms")) AS gate_reopens_at,
      EXISTS (SELECT 1 FROM \(pause) AS p WHERE p.kind IN ('', j.kind)) AS is_paused,
      nullif(j.needs, '') AS requires,
      NOT EXISTS (SELECT 1 FROM \(unmet) AS u WHERE u.needs = j.needs) AS is_met,
      \(time("(\(freeAt(.service)))")) AS budget_until,
      \(time("(\(freeAt(.lane)))")) AS pace_until
    FROM \(job) AS j LEFT JOIN \(gate) AS g ON g.service = j.service
    UNION ALL SELECT \(viewed), NULL, NULL, 0, NULL, 1, NULL, NULL FROM \(history) AS j
    """,
  ]

  private static let viewed = """
    j.id, j.kind, nullif(j.service, '') AS service, nullif(j.lane, '') AS lane,
    CASE j.state \(JobState.allCases.map { "WHEN \($0.rawValue) THEN '\($0)'" }
      .joined(separator: " ")) END AS state,
    j.reason, j.priority, j.starts, j.failures, j.progress, j.message,
    \(time("j.enqueued_ms")) AS enqueued_at, \(time("j.since_ms")) AS since
    """

  /// When there is a token again in the bucket that a job `j` takes from, of those of a
  /// lane the last.
  static func freeAt(_ scope: BucketScope) -> String {
    let (name, lanes) =
      switch scope {
      case .lane: ("j.kind", "IN ('', j.lane)")
      case .service: ("j.service", "= ''")
      case .network: ("''", "= ''")
      }
    return """
      SELECT max(b.free_ms) FROM \(bucket) AS b
      WHERE b.scope = \(scope.rawValue) AND b.name = \(name) AND b.lane \(lanes)
      """
  }

  // Whoever looks for such jobs says it in these words, so that SQLite takes the index.
  static let isWaiting = "state = \(JobState.waiting.rawValue)"
  static let isRunning = "state = \(JobState.running.rawValue)"
  static let isDue = "\(isWaiting) AND due = 1"
  static let isLater = "\(isWaiting) AND due = 0"
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
      try format != Self.format && !upgrade(db, from: format)
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
    try addCounts(db)
    try db.execute(
      sql: "INSERT INTO \(queue) VALUES (1, ?, ?, 0, 0, 0) ON CONFLICT DO NOTHING",
      arguments: [format, makeID()])
    return try String.fetchOne(db, sql: "SELECT id FROM \(queue)")!
  }

  /// The first files of the format do not have the column. It changes no number: a Tern that knows
  /// nothing of it reads and writes the table as before, and what it writes counts.
  static let addedToErrors: Set = ["counts"]

  /// Nor do they have this table, which a Tern that knows nothing of it leaves alone.
  static let added: Set = [credential]

  private static func addCounts(_ db: Database) throws {
    if try db.columns(in: error).contains(where: { $0.name == "counts" }) { return }
    try db.execute(sql: "ALTER TABLE \(error) ADD COLUMN counts INTEGER NOT NULL DEFAULT 1")
  }

  /// Leaves what is made anew to the statements of ``creation``. An older Tern's worker that runs
  /// takes it for another one's takeover, and ends.
  ///
  /// - Returns: `false` where that is not known.
  private static func upgrade(_ db: Database, from format: Int) throws -> Bool {
    guard format == 3 else { return false }
    try db.execute(
      sql: """
        DROP VIEW IF EXISTS \(view);
        DROP INDEX IF EXISTS grdb_tern_jobdue;
        ALTER TABLE \(job) ADD COLUMN needs TEXT NOT NULL DEFAULT '';
        ALTER TABLE \(bucket) ADD COLUMN free_ms INTEGER;
        UPDATE \(queue) SET format = 4, worker = worker + 1
        """)
    return true
  }
}
