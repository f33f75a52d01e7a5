import GRDB
import Tern
import TernCore
import TernJobs

/// The statements that a queue ran for such jobs, through SQLite's C interface alone: nothing around
/// them that decides, could fail, wait, or be told of it. Transactions end where the queue's did, but
/// none has fewer jobs than it could have: those that were enqueued together, or that run at once.
struct JobsInC {
  let folder: String
  let durability: Durability
  /// How many jobs are claimed, and completed, in one transaction.
  let concurrency: Int

  func run(count: Int, together size: Int) async throws -> (enqueueing: Double, working: Double) {
    let recording = StatementRecording()
    let recorded = JobBench(
      path: "\(folder)/recorded.sqlite", durability: durability, concurrency: concurrency,
      recording: recording)
    let (enqueued, worked) = try await recorded.record(count: count, together: size)
    let path = "\(folder)/app.sqlite"
    do {
      let pool = try DatabasePool(path: path)
      _ = try JobQueue.openBlocking(
        pool, limits: JobBench.limits, durability: durability, environment: recorded.environment)
      try pool.close()
    }
    let replay = try StatementReplay(path, durability, recording.statements)
    let clock = ContinuousClock()
    let enqueueing = clock.measure {
      measure { replay.run(enqueued, together: size, counting: "INSERT INTO grdb_tern_job (") }
    }
    let working = clock.measure {
      measure {
        replay.run(worked, together: concurrency, counting: "INSERT INTO grdb_tern_jobhistory")
      }
    }
    try check(path, recorded.path)
    return (enqueueing / .seconds(1), working / .seconds(1))
  }

  /// Both files have to say the same of all their jobs.
  private func check(_ path: String, _ recorded: String) throws {
    let contents = try [path, recorded].map { path in
      try DatabaseQueue(path: path).read { db in
        try ["grdb_tern_jobqueue", "grdb_tern_job", "grdb_tern_jobhistory"].map {
          try Row.fetchAll(db, sql: "SELECT * FROM \($0) ORDER BY 1")
        }
      }
    }
    precondition(contents[0] == contents[1], "the same statements left another queue")
  }
}

extension StatementReplay {
  /// - Parameter prefix: of the statement that each job has one of.
  func run(_ parts: [StatementRecording.Part], together size: Int, counting prefix: String) {
    let counted = texts.firstIndex { $0.hasPrefix(prefix) }!
    var jobs = 0
    begin()
    for part in parts {
      switch part {
      case .statement(let index, let values):
        run(index, values)
        if index == counted { jobs += 1 }
      case .end where jobs >= size:
        commit()
        begin()
        jobs = 0
      case .end: break
      }
    }
    commit()
  }
}
