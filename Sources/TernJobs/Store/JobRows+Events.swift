import GRDB
import TernCore

/// What observers will be told of a transaction. Without observers, nothing here does anything.
extension JobRows {
  func observe(_ change: JobEvent.Change, of claim: Claim) {
    events?.add(
      JobEvent(
        job: claim.id, kind: claim.lane.kind, service: claim.service,
        attempt: .init(number: claim.attempt, start: claim.start), change), in: db)
  }

  /// Of a job whose row is there, by who knows nothing more of it.
  func observe(
    _ change: JobEvent.Change, of job: JobID, _ service: String?,
    attempt: JobEvent.Attempt? = nil, if truth: PendingEvents.Truth = .committed
  ) throws {
    guard let events,
      let kind: String = try row(
        "SELECT kind FROM \(JobTables.job) WHERE id = ?", [job.rawValue])?[0]
    else { return }
    events.add(
      JobEvent(job: job, kind: kind, service: service, attempt: attempt, change), if: truth, in: db)
  }

  /// Of a job that was enqueued, or replaced, just now.
  func observeEnqueued(
    _ change: JobEvent.Change, of job: JobID, _ new: NewJob, at now: WallTime
  ) throws {
    guard let events else { return }
    // One that was replaced has a time of its own.
    let stored = try row(
      "SELECT enqueued_ms FROM \(JobTables.job) WHERE id = ?", [job.rawValue])
    let time = stored.map { WallTime(milliseconds: $0[0]) } ?? now
    events.add(
      JobEvent(job: job, kind: new.kind, service: new.service, change), if: .enqueued(time), in: db)
  }

  /// How an attempt ended, of a job that was the attempt's own.
  func observe(
    _ end: AttemptEnd, of claim: Claim, from before: JobLife, to life: JobLife,
    _ action: JobLife.Action, at now: WallTime
  ) {
    if events == nil { return }
    let ran = end.ran ?? .zero
    switch end.event {
    case .succeeded:
      observe(.done(ran: ran, age: max(now.duration - claim.enqueued.duration, .zero)), of: claim)
    case .shutDown: observe(.stopped(ran: ran), of: claim)
    case .unusable: observe(.parked(.unreadable, reason: end.reason ?? "", ran: ran), of: claim)
    case .failed(let advice, _):
      let next: JobEvent.Next =
        switch action {
        case .none: .never
        case .wait(let delay): .after(delay)
        case .closeGate(let delay): claim.service == nil ? .after(delay) : .gate(delay)
        }
      let failure = JobEvent.Failure(
        error: end.error ?? "", reason: end.reason ?? "", advice: advice,
        counts: life.failures > before.failures, next: next)
      observe(.failed(failure, ran: ran), of: claim)
    case .entrusted: observe(.entrusted(ran: ran), of: claim)
    case .claimed, .checkpoint, .processDied, .revived, .cancelled, .crowdedOut, .unauthorized:
      break
    }
  }

  /// What holds back the first of each line, beside a slot that is not free.
  func holds(
    _ lines: [JobLine], _ query: ClaimQuery, _ gates: [ExactText: GateLife], _ pauses: JobPauses,
    _ unmet: Set<ExactText>, _ held: Set<JobLane>
  ) throws -> [JobHeld] {
    try lines.map(\.first).compactMap { head in
      let hold = try ClaimChoice.reason(head, gates: gates, pauses: pauses, now: query.now) {
        if unmet.contains(ExactText($0.needs)) { return .unmet }
        if held.contains($0.lane) { return .refused }
        return try self.hold($0, query.kinds, query.running, query.budget, at: query.now)
      }
      return hold.map { JobHeld(head: head, hold: $0) }
    }
  }

  func observe(_ held: JobHeld) {
    events?.add(
      JobEvent(
        job: held.head.job, kind: held.head.lane.kind, service: held.head.service, .held(held.hold)),
      in: db)
  }
}

/// A job that is due, and what it waits for.
struct JobHeld: Hashable, Sendable {
  let head: ClaimChoice.Head
  let hold: JobEvent.Hold
}

extension ClaimChoice {
  /// Why a job that is due is not claimed; `nil` where only a free slot is missing.
  static func reason(
    _ head: Head, gates: [ExactText: GateLife], pauses: JobPauses, now: WallTime,
    hold: (Head) throws -> Hold?
  ) rethrows -> JobEvent.Hold? {
    if pauses.isPaused(head.lane.kind) { return .pause }
    switch head.service.flatMap({ gates[ExactText($0)] })?.admission(at: now) {
    case .probing, .closed: return .gate
    case .asProbe, nil: break
    }
    switch try hold(head) {
    case .unmet: return .requirement
    case .refused: return .credential
    case .busy, .until: return .pace
    case nil: return nil
    }
  }
}
