import GRDB
import TernCore

/// What observers will be told of a transaction. Without observers, nothing here does anything.
extension JobTransaction {
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
    guard let events, let kind = try jobs.kind(of: job) else { return }
    events.add(
      JobEvent(job: job, kind: kind, service: service, attempt: attempt, change), if: truth, in: db)
  }

  /// Of a job that was enqueued, or replaced, just now.
  func observeEnqueued(
    _ change: JobEvent.Change, of job: JobID, _ new: NewJob, at now: WallTime
  ) throws {
    guard let events else { return }
    // One that was replaced has a time of its own.
    let time = try jobs.enqueued(job) ?? now
    events.add(
      JobEvent(job: job, kind: new.kind, service: new.service, change), if: .enqueued(time), in: db)
  }

  func observe(_ held: JobHeld) {
    events?.add(
      JobEvent(
        job: held.head.job, kind: held.head.lane.kind, service: held.head.service, .held(held.hold)),
      in: db)
  }
}
