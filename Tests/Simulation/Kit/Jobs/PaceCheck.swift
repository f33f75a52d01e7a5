#if Server && Rehearsal
import Tern
import TernJobs
import TernTesting

/// How often jobs start and fail, and how long an attempt may go on, as one transaction shows it.
struct PaceCheck {
  let ledger: JobLedger
  let commit: JobCommit

  func checkPaces() {
    let rows = commit.after.values.sorted { $0.id < $1.id }
    for row in rows where commit.isClaimed(row.id) {
      for (lane, pace) in paces(row) {
        guard let rate = pace.rate else { continue }
        if let (count, length) = ledger.pacing.started(lane, rate, now: ledger.clock.milliseconds) {
          ledger.fail(.drains, "\(count) jobs of \(lane) were started within \(length) ms")
        }
      }
    }
    var running: [String: Int] = [:]
    for row in rows where row.state == .running {
      for (lane, pace) in paces(row) {
        running[lane, default: 0] += 1
        if let limit = pace.concurrency, running[lane]! > limit {
          ledger.fail(.drains, "\(running[lane]!) jobs of \(lane) run at once")
        }
      }
    }
  }

  private func paces(_ row: JobRow) -> [(lane: String, pace: JobPace)] {
    guard let pace = ledger.plan.paces[row.kind] else { return [] }
    let ofKind = [(row.kind, pace.kind)]
    return row.lane.isEmpty ? ofKind : ofKind + [(row.laneOfKind, pace.lane)]
  }

  /// Another network made budgets whole before their time.
  func checkRestoration() {
    // What is stored is rounded to milliseconds.
    if let time = ledger.pacing.restored(now: ledger.clock.milliseconds), time < 59_990 {
      ledger.fail(.drains, "budgets were restored \(time) ms after the last time")
    }
  }

  /// An attempt of a service failed, so that it is a sign of what is the matter with that.
  func checkBudget(
    _ row: JobRow, _ advice: FailureAdvice, _ attempt: JobEntry.Attempt, _ end: JobEntry.End
  ) {
    guard let budget = ledger.plan.budget, !row.service.isEmpty else { return }
    switch advice {
    case .permanent, .limited: return
    case .failed, .interrupted(isLocal: true): break
    case .interrupted, .unreachable:
      let now = ledger.path.path
      guard now.hasRoute, end.path == now, attempt.before.allSatisfy({ $0 == now }) else {
        return
      }
    }
    if let (count, length) = ledger.pacing.failed(
      row.service, budget, concurrency: ledger.plan.concurrency, now: ledger.clock.milliseconds)
    {
      ledger.fail(.drains, "\(count) attempts failed at \(row.service) within \(length) ms")
    }
  }

  /// From its last progress until it is fenced, in milliseconds.
  var fence: Int64 { ledger.plan.attemptLimit!.wholeMilliseconds + 10_000 }

  /// Of the worker whose process commits: what its attempts should have ended for.
  func checkAttempts() {
    guard !commit.process.isDead, !commit.process.isCancelled else { return }
    for (id, row) in commit.after.sorted(by: { $0.key < $1.key }) where row.state == .running {
      guard let attempt = ledger.entries[id]?.attempt, attempt.run == commit.process.run else {
        continue
      }
      let idle = ledger.clock.milliseconds - attempt.progressedAt
      // Somebody may have kept the database.
      if attempt.hangs, idle > fence + 10_000 {
        ledger.fail(.drains, "job \(id) has its slot after \(idle) ms without progress")
      }
      let since = max(ledger.path.changedAt, attempt.progressedAt)
      if !attempt.hangs, attempt.end == nil, !ledger.path.has(row.needs),
        ledger.clock.milliseconds - since > 2000
      {
        ledger.fail(.drains, "job \(id) goes on, and requires “\(row.needs)”")
      }
    }
    // One that hangs has its slot for a while after its job is gone, which its worker may hear late.
    let gone = commit.draft.cancelled.union(commit.draft.removed)
    if gone.contains(where: { ledger.entries[$0]?.attempt?.hangs ?? false }) {
      ledger.timing.occupy(until: ledger.clock.milliseconds + 11_100)
    }
  }
}
#endif
