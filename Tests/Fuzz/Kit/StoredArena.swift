import Foundation
import GRDB
import Synchronization
import Tern
import TernJobs
import TernNetwork
import TernTesting

/// What a queue reads back of a job beside its payload.
enum StoredPart: UInt8, CaseIterable {
  /// A step's result.
  case step = 1
  case value, deadline
  /// An upload that has begun, or was refused.
  case transfer, refusal
  /// An upload's answer, which is a step's result.
  case answer
  /// What the job requires of the network.
  case requirement
}

/// A queue in memory with one job, and a worker for it, in virtual time.
struct StoredArena {
  struct Payload: Codable, Hashable, Sendable {
    var shelf: String
    var photos: [String: Int]
    var position: Double?
    var nested: [[UInt8]]
  }

  private struct Holder: Job {
    static let kind = "holder"
    static let retry = RetryPolicy(delays: [])
  }

  private let clock = VirtualClock()
  private let executor = SeededExecutor(seed: 1)
  private let path = ScriptedPathSource()
  private let database: DatabaseQueue
  private let queue: JobQueue

  init() throws {
    database = try DatabaseQueue()
    let id = Mutex<UInt64>(0)
    var environment = JobEnvironment(
      clock: clock, wallClock: { [clock] in .seconds(1_700_000_000) + clock.now.offset },
      jitter: { 1 },
      makeID: {
        id.withLock { id in
          id += 1
          return id
        }
      }, executor: executor, fileExecutor: executor)
    environment.watchesFiles = false
    queue = try JobQueue.openBlocking(
      database, durability: .processCrash, environment: environment)
  }

  /// Whatever the part is: the job runs, waits, fails, or is parked with a short reason, its handler
  /// is given nothing that it was not promised, and the job can be removed.
  func run(_ part: StoredPart, _ content: [UInt8]) throws -> FuzzTarget.Outcome {
    let job = try enqueue(part, content)
    let broken = Mutex<String?>(nil)
    let worker = worker { text in broken.withLock { $0 = text } }
    if part == .requirement {
      path.set(hasRoute: false)
      try drain(worker)
      let starts = try record(job).starts
      try require((starts > 0) == content.isEmpty, "a requirement without a network: \(starts)")
      path.set(hasRoute: true)
    }
    try drain(worker)
    if let broken = broken.withLock({ $0 }) { throw FuzzFailure(broken) }
    let record = try record(job)
    try require(record.starts > 0, "a job that may run does not")
    try require(record.reason?.utf8.count ?? 0 < 4096, "a reason is as long as what is stored")
    if record.state == .parked { try require(record.reason != nil, "parked without a reason") }
    let isGone = try database.write { db in
      _ = try queue.remove(job, in: db)
      return try queue.records(in: db).isEmpty
    }
    try require(isGone, "a job cannot be removed")
    return record.state == .parked ? .refused : .taken
  }

  private func record(_ job: JobID) throws -> JobRecord {
    guard let record = try database.read({ try queue.record(job, in: $0) }) else {
      throw FuzzFailure("the job is gone")
    }
    return record
  }

  private func enqueue(_ part: StoredPart, _ content: [UInt8]) throws -> JobID {
    let (queue, content) = (queue, Data(content))
    let photo = try perform { try await queue.attach(Data([1]), as: "photo") }
    return try database.write { db in
      let job = try queue.enqueue(Holder(), files: [photo], in: db)
      let (kind, name) =
        switch part {
        case .step: (0, "step")
        case .value: (1, "value")
        case .deadline: (2, "deadline")
        case .transfer: (3, "upload")
        case .refusal: (4, "upload")
        case .answer: (0, "upload")
        case .requirement: (-1, "")
        }
      if part == .requirement {
        // Not as a text: that would be valid UTF-8.
        try db.execute(
          sql: "UPDATE grdb_tern_job SET needs = CAST(? AS TEXT)", arguments: [content])
      } else {
        try db.execute(
          sql: "INSERT INTO grdb_tern_jobcheckpoint (job, kind, name, content) VALUES (?, ?, ?, ?)",
          arguments: [job.rawValue, kind, name, content])
      }
      return job
    }
  }

  private func worker(_ complain: @escaping @Sendable (String) -> Void) -> JobWorker {
    JobWorker(queue, concurrency: 1, path: path, transfers: ScriptedTransfers()) {
      $0.handle(Holder.self) { _, context in
        let honest = Payload(shelf: "B3", photos: [:], position: nil, nested: [])
        _ = try await context.step("step") { honest }
        _ = try await context.value("value", as: Payload.self)
        let left = try await context.remaining("deadline", of: .seconds(60))
        if !(.zero ... .seconds(60) ~= left) { complain("\(left) are left of a minute") }
        let request = HTTPRequest(.post, "https://scan.example.org/photos")
        let answer = try await context.upload("upload", request, file: "photo")
        if !(200..<300 ~= answer.status) { complain("an upload's answer is \(answer.status)") }
      }
    }
  }

  private func drain(_ worker: JobWorker) throws {
    try perform { _ = try await worker.drain() }
  }

  /// Runs anything on this thread to its end.
  private func perform<T: Sendable>(_ body: @escaping @Sendable () async throws -> T) throws -> T {
    let result = Mutex<Result<T, any Error>?>(nil)
    let task = Task(executorPreference: executor) { try await body() }
    let watch = Task(executorPreference: executor) {
      let ended = await task.result
      result.withLock { $0 = ended }
    }
    _ = executor.run(clock) { result.withLock { $0 != nil } }
    _ = watch
    guard let ended = result.withLock({ $0 }) else {
      throw FuzzFailure("nothing is left that could happen")
    }
    return try ended.get()
  }

  /// Honest content of each part.
  static let samples: [(part: StoredPart, content: String)] = [
    (.step, #"{"nested":[[1,2],[]],"photos":{"a.jpg":1},"position":0.25,"shelf":"B3"}"#),
    (.value, #"{"nested":[],"photos":{},"shelf":"é\u0000\""}"#),
    (
      .deadline,
      #"{"since":{"milliseconds":1699999990000},"until":{"milliseconds":1700000050000}}"#
    ),
    (
      .transfer,
      #"{"id":"1:1:1700000000000:1:upload","isAwaited":true,"limit":{"since":{"milliseconds":1700000000000},"#
        + #""until":{"milliseconds":1700604800000}}}"#
    ),
    (.refusal, #"{"answer":"eyJlcnJvciI6InVucmVhY2hhYmxlIn0=","isSteady":true}"#),
    (.refusal, #"{"isSteady":false}"#),
    (.refusal, #"{"breaks":3,"isSteady":false,"isUnseen":true}"#),
    (.refusal, #"{"breaks":4,"isSteady":false,"spent":true}"#),
    (.answer, #"{"body":"W10=","fields":["Content-Type","application/json"],"status":200}"#),
    (.requirement, ""), (.requirement, "unmetered"), (.requirement, "any https://example.org"),
  ]
}
