#if Server && Rehearsal
import GRDB
import Tern
import TernJobs

/// A job's row as the database holds it.
struct JobRow: Equatable {
  let id: Int64
  let kind: String
  let service: String
  let state: JobState
  /// Milliseconds since 1970.
  let since: Int64
  let ready: Int64
  let starts: Int
  let failures: Int
  let unreached: Int
  let priority: Int
  /// Its time has come.
  let isDue: Bool
  let deaths: Int
  let key: String?
  let lane: String
  /// What has to be there before it is started, as it is stored.
  let needs: String

  var hasEnded: Bool { state.hasEnded }

  /// Of one that runs, as it is when its attempt ends and it has nothing to wait for.
  func waiting(since now: Int64) -> JobRow {
    JobRow(
      id: id, kind: kind, service: service, state: .waiting, since: now, ready: min(ready, now),
      starts: starts, failures: failures, unreached: unreached, priority: priority, isDue: true,
      deaths: 0, key: key, lane: lane, needs: needs)
  }

  /// Its place in the order stays, unless the clock was set back since it was ready.
  func keepsPlace(as new: JobRow) -> Bool { new.ready == min(ready, new.since) }

  var laneOfKind: String { "\(kind)/\(lane)" }
  /// The smallest goes first. The simulation's priorities are small.
  var place: (Int, Int64, Int64) { (-priority, ready, id) }

  static func all(_ db: Database) throws -> [Int64: JobRow] {
    let statement = try db.cachedStatement(
      sql: """
        SELECT id, kind, service, state, since_ms, ready_ms, starts, failures, unreached, priority,
          due, deaths, unique_key, lane, needs
        FROM grdb_tern_job
        UNION ALL SELECT id, kind, service, state, since_ms, ready_ms, starts, failures, 0, priority,
          1, 0, unique_key, lane, ''
        FROM grdb_tern_jobhistory
        """)
    var rows: [Int64: JobRow] = [:]
    let cursor = try Row.fetchCursor(statement)
    while let row = try cursor.next() {
      rows[row[0]] = JobRow(
        id: row[0], kind: row[1], service: row[2], state: JobState(rawValue: row[3])!,
        since: row[4], ready: row[5], starts: row[6], failures: row[7], unreached: row[8],
        priority: row[9], isDue: row[10], deaths: row[11], key: row[12],
        lane: row[13], needs: row[14])
    }
    return rows
  }
}

struct GateRow: Equatable {
  let since: Int64
  let reopens: Int64
  let probe: Int64?

  static func all(_ db: Database) throws -> [String: GateRow] {
    let statement = try db.cachedStatement(
      sql: "SELECT service, since_ms, reopens_ms, probe FROM grdb_tern_jobgate")
    var gates: [String: GateRow] = [:]
    let cursor = try Row.fetchCursor(statement)
    while let row = try cursor.next() {
      gates[row[0]] = GateRow(since: row[1], reopens: row[2], probe: row[3])
    }
    return gates
  }
}

/// The services that failed and have not done anything since, and when their budgets are whole
/// again, in milliseconds since 1970.
enum BudgetRow {
  static func services(_ db: Database) throws -> [String: Int64] {
    let rows = try Row.fetchAll(
      db.cachedStatement(sql: "SELECT name, full_us FROM grdb_tern_jobbucket WHERE scope = 1"))
    return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], ($0[1] as Int64) / 1000) })
  }
}

extension JobPauses {
  static func all(_ db: Database) throws -> JobPauses {
    let statement = try db.cachedStatement(sql: "SELECT kind FROM grdb_tern_jobpause")
    let kinds = try Set(String.fetchAll(statement))
    return JobPauses(all: kinds.contains(""), kinds: kinds.subtracting([""]))
  }
}

/// What is known of a job beside the queue.
struct JobEntry {
  let work: JobWork
  /// The job's files: contents by name.
  var files: [String: String]
  /// What each step, and each event of a stream, committed.
  var answers: [String: Int] = [:]
  /// The type with which a step's result was stored last: whether as text.
  var storedAsText: [String: Bool] = [:]
  /// The last one, while the job runs.
  var attempt: Attempt?
  /// The network's state at the last wake-up of those that reached nobody.
  var wokenAt: UInt64 = 0
  /// The last worker's run that began with it or started it.
  var triedIn = 0
  /// How many jobs had not ended as its last commit found no room for another, and in which run.
  var full: (count: Int, run: Int)?
  /// The handler returned and that was committed.
  var isDone = false
  /// By name.
  var requests: [String: RequestTally] = [:]
  /// What its handler sent after the job was taken from it.
  var lateSends = 0

  struct Attempt {
    /// Which worker's run has it.
    let run: Int
    /// The life of a process in which that runs.
    let life: Int
    let service: String
    /// The network as it began, as far as that can be told.
    var before: [NetworkPath]
    var end: End?
    /// In virtual milliseconds: when it began, reached a checkpoint or reported last.
    var progressedAt: Int64
    /// Its handler never returns.
    var hangs = false
    /// The names of what it sent.
    var sent: Set<String> = []
    /// The names of uploads that it handed over, that it was told are refused, and of which it made
    /// nothing.
    var entrusted: Set<String> = []
    var refused: Set<String> = []
    var misread: Set<String> = []
    /// What the last request came to that was no upload, `nil` where that is what was wanted, and
    /// the path's generation in which somebody answered who can't be anybody else.
    var told: FailureAdvice?
    var answeredIn: UInt64?
    /// What the handler does now is an upload.
    var isUploading = false
    /// One of those that are refused was over a network that did not stay.
    var isUnsteady = false
  }

  struct End {
    enum Kind: Equatable {
      case succeeded, unreadable
      /// It has uploads that go on without it.
      case entrusted
      case failed(FailureAdvice)
    }
    let kind: Kind
    let wasCancelled: Bool
    let path: NetworkPath
  }

  /// By name, when a deadline began, in virtual time.
  var deadlines: [String: Deadline] = [:]

  /// It began as it was asked for first, or up to the first answer: the database may make it wait.
  struct Deadline {
    let asked: Int64
    var answered: Int64?
    /// How often the wall clock had been set.
    let jumps: Int
  }

  /// The ids of the uploads that were answered, by name, and what a handler has read.
  var answered: [String: String] = [:]
  var numbers: [String: Int] = [:]
  /// What the last refusal of each may mean.
  var refusals: [String: [FailureAdvice]] = [:]

  /// How many events of a stream were committed.
  func position(_ step: StepWork) -> Int {
    (1...max(step.events, 1)).prefix { answers["\(step.name).\($0)"] != nil }.count
  }
}

/// What the open transaction of a process will have done, if it commits.
struct JobDraft {
  struct Checkpoint {
    let name: String
    let answer: Int
    /// The name under which the queue stores it.
    var stored: String
    var storedAsText: Bool?
    var created: [String: String] = [:]
    var released: [String] = []

    init(name: String, answer: Int) {
      (self.name, self.answer, stored) = (name, answer, name)
    }
  }

  var enqueued: [Int64: (work: JobWork, files: [String: String])] = [:]
  var checkpoints: [Int64: Checkpoint] = [:]
  var replaced: [Int64: (work: JobWork, files: [String: String])] = [:]
  /// Until when those that are new or replaced are not to start, by the time that is stored.
  var ready: [Int64: Int64] = [:]
  var removed: Set<Int64> = []
  var cancelled: Set<Int64> = []
  var retried: Set<Int64> = []
}
#endif
