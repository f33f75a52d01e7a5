#if Server && Rehearsal
import GRDB
import Tern
import TernJobs
import TernNetwork
import TernTesting

/// Steps that are done elsewhere.
extension JobProcess {
  func perform(_ step: StepWork, _ upload: UploadWork, _ context: JobContext) async throws {
    let id = context.id.rawValue
    let answer: Int
    do {
      if upload.parts == 2 {
        async let first = send(step.uploads[0], step, upload, context)
        async let second = send(step.uploads[1], step, upload, context)
        answer = try await first * 1_000_000 + second
      } else {
        answer = try await send(step.uploads[0], step, upload, context)
      }
    } catch is CancellationError where upload.isCareless && world.ledger.hasEntrusted(id, self) {
      throw Careless()
    }
    try checkFiles(context)
    let result = try await context.step(step.name) { files in
      world.ledger.work(id, step.name)
      if let name = step.releases { files.release(name) }
      return answer
    } commit: { db, answer in
      try db.execute(
        sql: "INSERT INTO effect VALUES (?, ?, ?)", arguments: [id, step.name, answer])
      if upload.isFollowed { try self.follow(id, db) }
      if self.world.happens(self.world.plan.refusedCommits) { throw RefusedCommit() }
      var checkpoint = JobDraft.Checkpoint(name: step.name, answer: answer)
      if let name = step.releases { checkpoint.released = [name] }
      self.draft.checkpoints[id] = checkpoint
    }
    try checkAlive()
    if result != answer {
      world.ledger.fail(
        .effectsHappenOnce, "job \(id) committed \(result) of \(step.name), and now it is \(answer)"
      )
    }
  }

  private func send(
    _ name: String, _ step: StepWork, _ upload: UploadWork, _ context: JobContext
  ) async throws -> Int {
    let id = context.id.rawValue
    // Made anew by each attempt.
    let url = SimulatedServices.url(step.service, isSecure: true)
    let request = HTTPRequest(.post, "\(url)/uploads")
    do {
      return try await context.upload(
        name, request, file: upload.file, within: .seconds(upload.seconds)
      ) { response in
        try checkAlive()
        let text = String(decoding: try await response.collect(limit: 100), as: UTF8.self)
        world.ledger.read(id, name, Int(text) ?? 0, self)
        // What was read once can be read again.
        let isNew = world.ledger.entries[id]?.answers[step.name] == nil
        if let plan = world.plan.uploads, isNew, world.happens(plan.misreadings) { throw Misread() }
        return Int(text) ?? 0
      }
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      try checkAlive()
      world.ledger.refused(id, name, by: error, self)
      throw error
    }
  }

  /// In the step that reads an answer, another job is enqueued: both or neither, and for every second
  /// job not without.
  private func follow(_ id: Int64, _ db: Database) throws {
    let work = JobWork(
      token: world.nextToken(), steps: [StepWork(name: "s0", service: SimulatedServices.local)])
    do {
      let id = try queue.enqueue(SimulatedJob<Index>(work: work), in: db).rawValue
      try db.execute(sql: "INSERT INTO item VALUES (?, ?)", arguments: [id, work.token])
      draft.enqueued[id] = (work, [:])
      draft.ready[id] = world.ledger.now
    } catch let error as JobQueueError where error.code == .tooManyJobs {
      world.trace.note("nothing follows: \(error)")
      if id.isMultiple(of: 2) {
        world.ledger.foundNoRoom(id, self)
        throw error
      }
    }
  }
}

/// A handler returns although it was told that an upload goes on without it.
struct Careless: Error {}

/// An answer that is not what the handler can make something of.
struct Misread: Error {}
#endif
