#if Server && Rehearsal
import Foundation
import GRDB
import Tern
import TernJobs
import TernTesting

/// Enqueues, removes and retries, in transactions of the app.
final class JobUser: @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  private let process: JobProcess
  private let world: JobWorld
  private var generator: SeededGenerator
  private var plan: JobPlan { world.plan }
  private var ledger: JobLedger { world.ledger }

  init(_ process: JobProcess, _ number: Int) {
    self.process = process
    world = process.world
    generator = SeededGenerator(seed: process.generator.next())
  }

  func act() async throws {
    while world.isFaulty, !process.isDead {
      try await world.clock.sleep(for: .milliseconds(Int.random(in: 50...6000, using: &generator)))
      guard world.isFaulty else { return }
      do {
        if let id = withdrawn() {
          try generator.oneIn(3) ? remove(id) : cancel(id)
        } else if world.hasTokensLeft, !generator.oneIn(4) {
          try await enqueue()
        } else if plan.removals, generator.oneIn(4) {
          try remove()
        } else if plan.cancellations, generator.oneIn(3) {
          try cancel()
        } else if plan.holds, generator.oneIn(3) {
          try hold()
        } else if plan.retries {
          try retry()
        }
      } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
        world.trace.note("process \(process.number): the database is locked")
      }
    }
  }

  // MARK: - Enqueueing

  private func enqueue() async throws {
    let token = world.nextToken()
    var files: [JobFile] = []
    var contents: [String: String] = [:]
    let least = plan.uploads == nil ? 0 : 1
    for number in 0..<(generator.oneIn(2) ? Int.random(in: 1...4, using: &generator) : least) {
      let name = "f\(plan.oversized && generator.oneIn(8) ? max(number - 1, 0) : number)"
      let isLarge = plan.oversized && generator.oneIn(10)
      let content = "\(token) \(name)" + String(repeating: "x", count: isLarge ? 100 : 0)
      do {
        files.append(try await process.queue.attach(Data(content.utf8), as: name))
        contents[name] = content
        if isLarge { ledger.fail(.limitsHold, "a file of \(content.utf8.count) bytes was taken") }
      } catch let error as JobQueueError where error.code == .fileTooLarge && isLarge {}
    }
    try process.checkAlive()
    let work = JobWork.random(
      token: token, files: contents.keys.sorted(), plan: plan, using: &generator)
    let kind = Int.random(in: 0..<4, using: &generator)
    do {
      try transact(work, kind, files, contents)
    } catch is ChangedMind {
      world.trace.note("process \(process.number) rolled back \(token)")
    } catch let error as JobQueueError {
      checkRefusal(error, work, files)
    }
  }

  private func transact(
    _ work: JobWork, _ kind: Int, _ files: [JobFile], _ contents: [String: String]
  ) throws {
    try process.database.write { db in
      switch Int.random(in: 0..<12, using: &generator) {
      case 0...1:
        // Taken back within the transaction, and everything with it: the files are free when that
        // ends.
        try db.inSavepoint {
          _ = try enqueue(work, kind, files, placement(), db)
          return .rollback
        }
        try enqueueForGood(work, kind, [], [:], db)
      case 2:
        _ = try enqueue(work, kind, files, placement(), db)
        throw ChangedMind()
      default: try enqueueForGood(work, kind, files, contents, db)
      }
    }
  }

  private func enqueueForGood(
    _ work: JobWork, _ kind: Int, _ files: [JobFile], _ contents: [String: String], _ db: Database
  ) throws {
    let before = try unfinished(db)
    let placement = placement()
    let namesakes = try namesakes(kind, placement.unique, db)
    do {
      let id = try enqueue(work, kind, files, placement, db)
      process.draft.ready[id.rawValue] = ledger.now + Int64(placement.delay) * 1000
      if let standIn = namesakes.first {
        if id.rawValue != standIn {
          ledger.fail(.effectsHappenOnce, "job \(id) is there, and \(standIn) has its key")
        }
        guard case .replace? = placement.unique else { return }
        try db.execute(sql: "DELETE FROM effect WHERE job = ?", arguments: [id.rawValue])
        process.draft.replaced[id.rawValue] = (work, contents)
        process.draft.cancelled.formUnion(namesakes.dropFirst())
        let left = try self.namesakes(kind, placement.unique, db)
        if left != [standIn] {
          ledger.fail(.effectsHappenOnce, "jobs \(left) wait with the key of job \(id)")
        }
        return
      }
      try db.execute(
        sql: "INSERT INTO item VALUES (?, ?)", arguments: [id.rawValue, work.token])
      process.draft.enqueued[id.rawValue] = (work, contents)
      if before >= plan.limits.jobs || files.count > plan.limits.filesPerJob
        || contents.count < files.count || !work.padding.isEmpty
      {
        ledger.fail(.limitsHold, "job \(id) was taken over a limit")
      }
    } catch let error as JobQueueError {
      if error.code == .tooManyJobs, before < plan.limits.jobs {
        ledger.fail(.limitsHold, "a job was refused with \(before) there: \(error)")
      }
      // Nothing of the job is written, and the transaction can go on.
      if try unfinished(db) != before {
        ledger.fail(.limitsHold, "a refused job is there: \(error)")
      }
      checkRefusal(error, work, files)
    }
  }

  private struct Placement {
    var priority = 0
    /// In seconds.
    var delay = 0
    var unique: JobUniqueness?
    var lane: String?
    var requirement = JobRequirement.nothing
  }

  private func placement() -> Placement {
    var placement = Placement()
    if plan.priorities { placement.priority = Int.random(in: -1...1, using: &generator) }
    if plan.delays, generator.oneIn(3) {
      placement.delay = Int.random(in: 1...20, using: &generator)
    }
    if plan.uniques, generator.oneIn(2) {
      let key = "k\(Int.random(in: 0...1, using: &generator))"
      placement.unique = generator.oneIn(2) ? .skip(key) : .replace(key)
    }
    if plan.lanes { placement.lane = ["a", "b", nil].randomElement(using: &generator)! }
    if plan.requirements {
      let all: [JobRequirement] = [
        .nothing, .network, .unmetered, .endpoint(SimulatedPath.endpoint),
      ]
      placement.requirement = all.randomElement(using: &generator)!
    }
    return placement
  }

  private static let kinds = [Scan.name, Upload.name, Translate.name, Index.name]

  /// The job that is there already and makes a new one needless, or becomes it.
  private func namesakes(_ kind: Int, _ unique: JobUniqueness?, _ db: Database) throws -> [Int64] {
    let (key, states): (String, [JobState]) =
      switch unique {
      case .skip(let key)?: (key, [.waiting, .running, .parked])
      case .replace(let key)?: (key, [.waiting, .parked])
      case nil: ("", [])
      }
    return try JobRow.all(db).values.filter {
      $0.key == key && $0.kind == Self.kinds[kind] && states.contains($0.state)
    }.map(\.id).sorted()
  }

  private func enqueue(
    _ work: JobWork, _ kind: Int, _ files: [JobFile], _ place: Placement, _ db: Database
  ) throws -> JobID {
    func enqueue(_ job: some Job) throws -> JobID {
      try process.queue.enqueue(
        job, priority: place.priority, after: .seconds(place.delay), unique: place.unique,
        lane: place.lane, requires: place.requirement, files: files, in: db)
    }
    return switch kind {
    case 0: try enqueue(SimulatedJob<Scan>(work: work))
    case 1: try enqueue(SimulatedJob<Upload>(work: work))
    case 2: try enqueue(SimulatedJob<Translate>(work: work))
    default: try enqueue(SimulatedJob<Index>(work: work))
    }
  }

  private func unfinished(_ db: Database) throws -> Int {
    try JobRow.all(db).values.filter { !$0.hasEnded }.count
  }

  private func checkRefusal(_ error: JobQueueError, _ work: JobWork, _ files: [JobFile]) {
    world.trace.note("process \(process.number) was refused \(work.token): \(error)")
    let isRight =
      switch error.code {
      case .payloadTooLarge: !work.padding.isEmpty
      case .tooManyFiles: files.count > plan.limits.filesPerJob
      case .duplicateFile: Set(files.map(\.name)).count < files.count
      case .tooManyJobs: true
      default: false
      }
    if !isRight { ledger.fail(.limitsHold, "job \(work.token) was refused: \(error)") }
  }

  // MARK: - Others' jobs

  /// One whose upload goes on, now and then.
  private func withdrawn() -> Int64? {
    guard let uploads = plan.uploads, uploads.withdrawals, generator.oneIn(3) else { return nil }
    return ledger.awaitingUploads.randomElement(using: &generator)
  }

  private func remove() throws {
    guard let id = ledger.rows.keys.sorted().randomElement(using: &generator) else { return }
    try remove(id)
  }

  private func remove(_ id: Int64) throws {
    try process.database.write { db in
      if try process.queue.remove(JobID(rawValue: id), in: db) {
        process.draft.removed.insert(id)
      }
    }
  }

  private func cancel() throws {
    guard let id = ledger.rows.keys.sorted().randomElement(using: &generator) else { return }
    try cancel(id)
  }

  private func cancel(_ id: Int64) throws {
    try process.database.write { db in
      if try process.queue.cancel(JobID(rawValue: id), in: db) {
        process.draft.cancelled.insert(id)
      }
    }
  }

  /// Pauses a kind, or all, or resumes what is paused.
  private func hold() throws {
    let kind = generator.oneIn(4) ? nil : Self.kinds.randomElement(using: &generator)!
    try process.database.write { db in
      let isHeld = ledger.pauses.all || !ledger.pauses.kinds.isEmpty
      if isHeld, generator.oneIn(2) {
        try process.queue.resumeEverything(in: db)
      } else {
        try process.queue.pause(kind, in: db)
      }
    }
  }

  private func retry() throws {
    let ids = ledger.rows.values.filter { $0.state == .failed || $0.state == .parked }.map(\.id)
    guard let id = ids.sorted().randomElement(using: &generator) else { return }
    try process.database.write { db in
      if try process.queue.retry(JobID(rawValue: id), in: db) {
        process.draft.retried.insert(id)
      }
    }
  }
}

extension JobQueue {
  func resumeEverything(in db: Database) throws {
    let pauses = try pauses(in: db)
    if pauses.all { try resume(in: db) }
    for kind in pauses.kinds.sorted() { try resume(kind, in: db) }
  }
}

private struct ChangedMind: Error {}
#endif
