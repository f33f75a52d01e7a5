import CTernSQLite
import GRDB
import GRDBSQLite
import Tern
import TernCore

/// The statements that a queue ran for such jobs, through SQLite's C interface alone: nothing around
/// them that decides, could fail, wait, or be told of it. Transactions end where the queue's did, but
/// none has fewer jobs than it could have: those that were enqueued together, or that run at once.
struct JobsInC {
  let folder: String
  let durability: Durability
  /// How many jobs are claimed, and completed, in one transaction.
  let concurrency: Int

  func run(count: Int, together size: Int) async throws -> (enqueueing: Double, working: Double) {
    let recording = JobRecording()
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
    let replay = try Replay(path, durability, recording.statements)
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

  private final class Replay {
    private var database: OpaquePointer?
    private var statements: [OpaquePointer] = []
    private var begin, commit: OpaquePointer?
    private var texts: [String]
    /// Of what was read, so that it is.
    private(set) var sum: Int64 = 0

    init(_ path: String, _ durability: Durability, _ texts: [String]) throws {
      self.texts = texts
      precondition(sqlite3_open(path, &database) == SQLITE_OK, "\(path) cannot be opened")
      once("PRAGMA synchronous = \(durability == .powerLoss ? "FULL" : "NORMAL")")
      for text in texts { statements.append(prepare(text)) }
      (begin, commit) = (prepare("BEGIN IMMEDIATE"), prepare("COMMIT"))
    }

    deinit {
      for statement in statements + [begin!, commit!] { sqlite3_finalize(statement) }
      sqlite3_close(database)
    }

    private func once(_ sql: String) {
      precondition(sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK, sql)
    }

    private func prepare(_ sql: String) -> OpaquePointer {
      var statement: OpaquePointer?
      precondition(sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK, sql)
      return statement!
    }

    /// - Parameter prefix: of the statement that each job has one of.
    func run(_ parts: [JobRecording.Part], together size: Int, counting prefix: String) {
      let counted = texts.firstIndex { $0.hasPrefix(prefix) }!
      var jobs = 0
      run(begin!, [])
      for part in parts {
        switch part {
        case .statement(let index, let values):
          run(statements[index], values)
          if index == counted { jobs += 1 }
        case .end where jobs >= size:
          run(commit!, [])
          run(begin!, [])
          jobs = 0
        case .end: break
        }
      }
      run(commit!, [])
    }

    private func run(_ statement: OpaquePointer, _ values: [Value]) {
      for (index, value) in zip(Int32(1)..., values) { bind(value, to: statement, at: index) }
      while true {
        let code = sqlite3_step(statement)
        if code == SQLITE_DONE { break }
        precondition(code == SQLITE_ROW, String(cString: sqlite3_errmsg(database)))
        for column in 0..<sqlite3_column_count(statement) { read(statement, column) }
      }
      sqlite3_reset(statement)
    }

    private func bind(_ value: Value, to statement: OpaquePointer, at index: Int32) {
      // What is bound stays where it is until the statement is reset.
      switch value {
      case .null: sqlite3_bind_null(statement, index)
      case .integer(let number): sqlite3_bind_int64(statement, index, number)
      case .real(let number): sqlite3_bind_double(statement, index, number)
      case .text(let bytes):
        bytes.withUnsafeBytes {
          _ = tern_bind_text(statement, index, $0.baseAddress, Int32($0.count))
        }
      case .blob(let bytes):
        bytes.withUnsafeBytes {
          _ = tern_bind_blob(statement, index, $0.baseAddress, Int32($0.count))
        }
      }
    }

    private func read(_ statement: OpaquePointer, _ column: Int32) {
      switch sqlite3_column_type(statement, column) {
      case SQLITE_INTEGER: sum &+= sqlite3_column_int64(statement, column)
      case SQLITE_TEXT, SQLITE_BLOB:
        _ = sqlite3_column_blob(statement, column)
        sum &+= Int64(sqlite3_column_bytes(statement, column))
      default: break
      }
    }
  }
}
