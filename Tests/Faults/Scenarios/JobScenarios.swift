import GRDB
import Tern
import TernJobs
import TernTesting

extension Scenario<JobApp> {
  /// A job goes in with the app's row, does its steps, brings another in with the last of them, and
  /// ends in the history, which keeps one.
  static let jobs = Scenario(
    name: "jobs",
    prepare: { disk in
      let app = JobApp(disk)
      try app.open()
      try app.write { db, _ in
        try db.execute(sql: "\(JobApp.creation); CREATE TABLE page (id INTEGER PRIMARY KEY)")
      }
      app.abandon()
    },
    makeSubject: { JobApp($0) },
    steps: [
      Step(name: "enqueue") { app in
        try app.write { db, queue in
          try db.execute(sql: "INSERT INTO page VALUES (1)")
          try queue.enqueue(JobApp.Scan(), unique: .skip("page 1"), in: db)
          try queue.enqueue(JobApp.Scan(), unique: .skip("page 1"), in: db)
        }
      },
      Step(name: "work", isAtomic: false) { try $0.work() },
    ],
    counting: JobApp.counting,
    holds: { db, hasDied in
      try expectEffectsOnce(db)
      try expectCounts(db)
      try expectDeathsCounted(db, hasDied: hasDied)
      let (pages, jobs) = (try count(db, "page"), try count(db, "sqlite_sequence"))
      guard pages == jobs else {
        throw Violation(.operationsAreAtomic, "\(pages) rows and \(jobs) kinds of jobs")
      }
    },
    check: { app in
      let records = try app.queue.database.read { try app.queue.records(in: $0) }
      guard records.map(\.kind) == [JobApp.Tell.kind], records[0].state == .done else {
        throw Violation(.drains, "the queue is left with \(records.map(\.kind))")
      }
    })

  /// The same while somebody reads what was there as each job began: the log is not begun anew.
  static let readJobs = Scenario(
    name: "jobs-with-readers", prepare: jobs.prepare, makeSubject: { JobApp($0, isRead: true) },
    steps: jobs.steps, counting: jobs.counting, holds: jobs.holds, check: jobs.check)

  /// The next opening after several processes have died: what they ran is free again, or parked after
  /// too many deaths, and each death is counted once however often the opening is cut short.
  static let deaths = Scenario(
    name: "jobs-after-deaths", prepare: { try leaveDead($0) }, makeSubject: { JobApp($0) },
    steps: [
      Step(name: "free what died", canFailDone: true) { app in
        try app.work()
        let found = try app.queue.database.read { db in
          try String.fetchAll(
            db, sql: "SELECT state || ' ' || deaths FROM grdb_tern_job ORDER BY id")
        }
        let (parked, waiting) = (JobState.parked.rawValue, JobState.waiting.rawValue)
        guard found == ["\(parked) \(JobApp.deaths)", "\(waiting) 1"] else {
          throw Violation(.drains, "after so many deaths, and one, jobs are \(found)")
        }
      },
      Step(name: "resume") { app in try app.write { try $1.resume(in: $0) } },
      Step(name: "work", isAtomic: false) { try $0.work() },
    ],
    counting: JobApp.counting,
    holds: { db, _ in
      try expectEffectsOnce(db)
      try expectCounts(db)
    },
    check: { app in
      let left = try app.queue.database.read { try app.queue.records(in: $0) }.map(\.state)
      guard left == [.parked, .done] else { throw Violation(.drains, "jobs are \(left)") }
    })

  /// Of one job three processes die, and of a second one the last of them.
  private static func leaveDead(_ disk: Disk) throws {
    for life in 1...JobApp.deaths {
      let app = JobApp(disk, concurrency: 2) { try disk.cyclePower(keeping: .all) }
      try app.open()
      try app.write { db, queue in
        if life == 1 { try db.execute(sql: JobApp.creation) }
        if life == 1 || life == JobApp.deaths { try queue.enqueue(JobApp.Tell(), in: db) }
      }
      do {
        try app.work()
        throw Violation(.drains, "a job was done by a process that died")
      } catch is DatabaseError {
        app.abandon()
      }
    }
    let app = JobApp(disk)
    try app.open()
    try app.write { try $1.pause(in: $0) }
    app.abandon()
  }

  // MARK: - What holds in between

  private static func count(_ db: Database, _ table: String) throws -> Int {
    try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? 0
  }

  private static func expectNone(
    _ db: Database, _ invariant: Invariant, _ sql: String, _ what: String
  ) throws {
    if let row = try Row.fetchOne(db, sql: sql) { throw Violation(invariant, "\(what): \(row)") }
  }

  /// A step's rows are there with its result, and not again.
  private static func expectEffectsOnce(_ db: Database) throws {
    try expectNone(
      db, .effectsHappenOnce,
      "SELECT job, name FROM effect GROUP BY job, name HAVING count(*) > 1", "done twice")
    try expectNone(
      db, .effectsHappenOnce,
      """
      SELECT id, e.name, c.name FROM grdb_tern_job AS j
      JOIN (SELECT 'read' AS name UNION SELECT 'file' UNION SELECT 'tell') AS n
      LEFT JOIN effect AS e ON e.job = j.id AND e.name = n.name
      LEFT JOIN grdb_tern_jobcheckpoint AS c ON c.job = j.id AND c.name = n.name
      WHERE (e.name IS NULL) <> (c.name IS NULL)
      """, "of a step and its result one is there")
    try expectNone(
      db, .effectsHappenOnce,
      """
      SELECT id, kind FROM grdb_tern_jobhistory AS h WHERE (SELECT count(*) FROM effect WHERE job = h.id)
        <> CASE kind WHEN 'scan' THEN 2 ELSE 1 END
      """, "ended without having done all")
  }

  /// A job is in the queue or in the history, each of which knows how many it has.
  private static func expectCounts(_ db: Database) throws {
    try expectNone(
      db, .limitsHold,
      """
      SELECT unfinished, ended FROM grdb_tern_jobqueue
      WHERE unfinished <> (SELECT count(*) FROM grdb_tern_job)
        OR ended <> (SELECT count(*) FROM grdb_tern_jobhistory) OR ended > 1
      """, "the queue counts wrong or keeps too much")
    try expectNone(
      db, .operationsAreAtomic,
      "SELECT id FROM grdb_tern_job JOIN grdb_tern_jobhistory USING (id)", "moved in part")
  }

  /// With a job's first effect in each start after its first, its process has died once, or never.
  private static func expectDeathsCounted(_ db: Database, hasDied: Bool) throws {
    try expectNone(
      db, .drains,
      """
      SELECT * FROM (
        SELECT *, row_number() OVER (PARTITION BY job, start ORDER BY rowid) AS place FROM effect)
      WHERE deaths <> CASE WHEN place = 1 AND \(hasDied) THEN start - 1 ELSE 0 END
      """, "a death is counted wrong")
  }
}
