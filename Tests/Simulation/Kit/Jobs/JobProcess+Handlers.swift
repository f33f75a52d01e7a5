#if Server && Rehearsal
import Foundation
import GRDB
import Tern
import TernJobs
import TernNetwork
import TernTesting

/// What handlers do, and what they tell the ledger.
extension JobProcess {
  func register(_ handlers: inout JobHandlers) {
    register(Scan.self, &handlers)
    register(Upload.self, &handlers)
    register(Translate.self, &handlers)
    register(Index.self, &handlers)
  }

  private func register<Kind: SimulatedKind>(_ kind: Kind.Type, _ handlers: inout JobHandlers) {
    guard kinds.contains(Kind.name) else { return }
    handlers.handle(SimulatedJob<Kind>.self) { job, context in
      try await self.perform(job.work, context)
    }
  }

  private func perform(_ work: JobWork, _ context: JobContext) async throws {
    let (ledger, id) = (world.ledger, context.id.rawValue)
    try checkAlive()
    ledger.begin(id, self)
    do {
      for step in work.steps {
        if world.plan.hangs > 0, world.happens(world.plan.hangs) { try await hang(context) }
        try checkFiles(context)
        if let seconds = step.deadline { try await waitAtMost(seconds, step.name, context) }
        if step.reports {
          try await context.report(progress: 0.5, message: "working on step \(step.name)")
          ledger.reported(id)
        }
        ledger.entries[id]?.attempt?.isUploading = step.upload != nil
        if let upload = step.upload {
          try await perform(step, upload, context)
        } else if step.events > 0 {
          try await stream(step, context)
        } else if storesText {
          try await perform(step, context, { "\($0)" }, { Int($0)! })
        } else {
          try await perform(step, context, { $0 }, { $0 })
        }
      }
      ledger.end(id, end(.succeeded), self)
    } catch is Hung {
      throw CancellationError()
    } catch is Careless {
      ledger.end(id, end(.entrusted), self)
    } catch is CancellationError where ledger.hasEntrusted(id, self) {
      ledger.end(id, end(.entrusted), self)
      throw CancellationError()
    } catch {
      ledger.end(id, end(kind(of: error, work, id)), self)
      throw error
    }
  }

  /// Until the worker is told to end, and what is left to such a handler then.
  private func hang(_ context: JobContext) async throws {
    let (ledger, id) = (world.ledger, context.id.rawValue)
    guard ledger.runs(id, start: context.start, self) else { return }
    ledger.hangs(id)
    await hang()
    try checkAlive()
    if ledger.runs(id, start: context.start, self) {
      // Its worker ends before it is fenced, and it ends as any other.
      ledger.entries[id]?.attempt?.hangs = false
      throw CancellationError()
    }
    do {
      try await context.save("late", 1)
      ledger.fail(.effectsHappenOnce, "job \(id) stored something for a handler that was fenced")
    } catch let error as JobQueueError where error.code == .notRunning {
      throw Hung()
    }
  }

  private func end(_ kind: JobEntry.End.Kind) -> JobEntry.End {
    JobEntry.End(kind: kind, wasCancelled: Task.isCancelled, path: world.path.path)
  }

  // MARK: - Parts

  private func perform<Result: Codable & Sendable>(
    _ step: StepWork, _ context: JobContext, _ encode: @Sendable (Int) -> Result,
    _ decode: @Sendable (Result) -> Int
  ) async throws where Result: Equatable {
    let (ledger, id) = (world.ledger, context.id.rawValue)
    let isText = storesText
    let result = try await context.step(step.name) { files in
      ledger.work(id, step.name)
      let answer = try await ask(step, context)
      try checkFiles(context)
      if let name = step.creates {
        let content = "\(id) \(name) \(answer)"
        try Data(content.utf8).write(to: files.create(name))
      }
      if let name = step.releases { files.release(name) }
      return Padded(value: encode(answer), padding: String(repeating: "x", count: step.padding))
    } commit: { db, result in
      let answer = decode(result.value)
      try db.execute(
        sql: "INSERT INTO effect VALUES (?, ?, ?)", arguments: [id, step.name, answer])
      if self.world.happens(self.world.plan.refusedCommits) { throw RefusedCommit() }
      var checkpoint = JobDraft.Checkpoint(name: step.name, answer: answer)
      checkpoint.storedAsText = isText
      if let name = step.releases { checkpoint.released = [name] }
      if let name = step.creates { checkpoint.created = [name: "\(id) \(name) \(answer)"] }
      self.draft.checkpoints[id] = checkpoint
    }
    try checkAlive()
    if let committed = ledger.entries[id]?.answers[step.name], committed != decode(result.value) {
      ledger.fail(
        .effectsHappenOnce,
        "job \(id) got \(result.value) from \(step.name), which committed \(committed)")
    }
  }

  /// What the service does once, however often it is asked with the same key.
  private func ask(_ step: StepWork, _ context: JobContext) async throws -> Int {
    let id = context.id.rawValue
    let service = try service(step)
    let request = try service.request(
      .post, "/jobs/\(id)/\(step.name)",
      headers: ["Idempotency-Key": context.idempotencyKey(step.name)],
      body: .bytes(Array("\(id) \(step.name)".utf8)), timeout: .seconds(25),
      idleTimeout: .seconds(10))
    try checkAlive()
    defer { world.ledger.checkBelieved(id, self) }
    let number = try await service.answer(to: request).json(Int.self, limit: 100)
    try checkAlive()
    return number
  }

  private func service(_ step: StepWork) throws -> HTTPService {
    HTTPService(URL(string: SimulatedServices.url(step.service))!, over: network)
  }

  private func stream(_ step: StepWork, _ context: JobContext) async throws {
    let (ledger, id) = (world.ledger, context.id.rawValue)
    let position = "\(step.name).position"
    let last = try await context.value(position, as: String.self) ?? ""
    try checkAlive()
    if let entry = ledger.entries[id], entry.position(step) != Int(last) ?? 0 {
      ledger.fail(
        .effectsHappenOnce,
        "job \(id) resumes \(step.name) at \(last), and \(entry.position(step)) are committed")
    }
    if Int(last) == step.events { return }
    let request = try service(step).request(
      .get, "/events/\(id)/\(step.name)", timeout: .seconds(120), idleTimeout: .seconds(10))
    let events = try await EventStream.open(request, after: last, over: network)
    ledger.checkBelieved(id, self)
    for try await event in events! {
      try checkAlive()
      let name = "\(step.name).\(event.id)"
      ledger.work(id, name)
      try await context.save(position, event.id) { db in
        let answer = Int(event.data) ?? 0
        try db.execute(sql: "INSERT INTO effect VALUES (?, ?, ?)", arguments: [id, name, answer])
        if self.world.happens(self.world.plan.refusedCommits) { throw RefusedCommit() }
        var checkpoint = JobDraft.Checkpoint(name: name, answer: answer)
        checkpoint.stored = position
        self.draft.checkpoints[id] = checkpoint
      }
      if Int(event.id) == step.events { return }
    }
    let isLocal = step.service == SimulatedServices.local
    throw JobFailure(.interrupted(isLocal: isLocal), "the stream ended early")
  }

  private func waitAtMost(_ seconds: Int, _ name: String, _ context: JobContext) async throws {
    world.ledger.asks(context.id.rawValue, name)
    let left = try await context.remaining(name, of: .seconds(seconds))
    try checkAlive()
    world.ledger.deadline(context.id.rawValue, name, seconds, left: left)
  }

  /// A job that runs finds all its files, as its last step left them.
  func checkFiles(_ context: JobContext) throws {
    try checkAlive()
    let id = context.id.rawValue
    guard let entry = world.ledger.entries[id], !isGone(id) else { return }
    for (name, content) in entry.files.sorted(by: { $0.key < $1.key }) {
      let url = try? context.file(name)
      let found = url.flatMap { try? Data(contentsOf: $0) }
      if found != Data(content.utf8) {
        world.ledger.fail(.effectsHappenOnce, "job \(id), running, does not find its file \(name)")
      }
    }
  }

  /// Somebody removed or cancelled it as it ran.
  private func isGone(_ id: Int64) -> Bool {
    world.ledger.rows[id].map { $0.state == .cancelled } ?? true
  }

  // MARK: - Ends

  private func kind(of error: any Error, _ work: JobWork, _ id: Int64) -> JobEntry.End.Kind {
    guard let error = error as? JobQueueError else {
      return .failed(world.ledger.advice(of: error, id, self))
    }
    switch error.code {
    case .unreadable:
      let entry = world.ledger.entries[id]
      if entry?.storedAsText.values.contains(!storesText) != true {
        world.ledger.fail(.effectsHappenOnce, "job \(id) cannot read what it stored: \(error)")
      }
      return .unreadable
    case .checkpointTooLarge where work.steps.contains { $0.padding > 0 }: break
    case .tooManyCheckpoints, .tooManyFiles: break
    case .noSuchFile where releasesUnknown(work, id): break
    case .notRunning where isGone(id): break
    case .tooManyJobs where world.ledger.entries[id]?.full != nil: break
    default:
      if !isDead { world.ledger.fail(.limitsHold, "job \(id) was refused: \(error)") }
    }
    return .failed(error.advice)
  }

  /// Some works come without their files, and some make one twice and release both.
  private func releasesUnknown(_ work: JobWork, _ id: Int64) -> Bool {
    let files = world.ledger.entries[id]?.files ?? [:]
    return work.steps.contains { step in
      [step.releases, step.upload?.file].compactMap(\.self).contains { files[$0] == nil }
    }
  }
}

/// A step's result with as many bytes as the work wants.
private struct Padded<Value: Codable & Sendable>: Codable, Sendable {
  var value: Value
  var padding: String
}

/// Ends a handler whose attempt ended before.
struct Hung: Error {}

/// What an app's own constraint may say within a step's transaction.
struct RefusedCommit: Error {}
#endif
