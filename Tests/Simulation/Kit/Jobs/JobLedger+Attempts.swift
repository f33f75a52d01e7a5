#if Server && Rehearsal
import Tern
import TernTesting

/// How long an attempt may go on.
extension JobLedger {
  /// From its last progress until it is fenced, in milliseconds.
  private var fence: Int64 { plan.attemptLimit!.wholeMilliseconds + 10_000 }

  /// Of the worker whose process commits: what its attempts should have ended for.
  func checkAttempts(_ commit: JobCommit) {
    guard !commit.process.isDead, !commit.process.isCancelled else { return }
    for (id, row) in commit.after.sorted(by: { $0.key < $1.key }) where row.state == .running {
      guard let attempt = entries[id]?.attempt, attempt.run == commit.process.run else { continue }
      let idle = clock.milliseconds - attempt.progressedAt
      // Somebody may have kept the database.
      if attempt.hangs, idle > fence + 10_000 {
        fail(.drains, "job \(id) has its slot after \(idle) ms without progress")
      }
      let since = max(path.changedAt, attempt.progressedAt)
      if !attempt.hangs, attempt.end == nil, !path.has(row.needs),
        clock.milliseconds - since > 2000
      {
        fail(.drains, "job \(id) goes on, and requires “\(row.needs)”")
      }
    }
    // One that hangs has its slot for a while after its job is gone, which its worker may hear late.
    let gone = commit.draft.cancelled.union(commit.draft.removed)
    if gone.contains(where: { entries[$0]?.attempt?.hangs ?? false }) {
      timing.occupy(until: clock.milliseconds + 11_100)
    }
  }

  /// A handler that never returned has no slot any more.
  func checkFenced(
    _ old: JobRow, _ new: JobRow, _ attempt: JobEntry.Attempt, _ commit: JobCommit
  ) {
    let idle = clock.milliseconds - attempt.progressedAt
    if idle < fence {
      fail(.drains, "job \(old.id) lost its slot \(idle) ms after its last progress")
    }
    let end = JobEntry.End(kind: .failed(.failed), wasCancelled: true, path: path.path)
    checkBudget(old, .failed, attempt, end)
    checkCounted(old, new)
  }

  func hangs(_ id: Int64) {
    trace.note("job \(id) hangs")
    entries[id]?.attempt?.hangs = true
  }

  /// Whether a start of a job is the one that runs.
  func runs(_ id: Int64, start: Int, _ process: JobProcess) -> Bool {
    rows[id]?.state == .running && rows[id]?.starts == start
      && entries[id]?.attempt?.run == process.run
  }

  func reported(_ id: Int64) { entries[id]?.attempt?.progressedAt = clock.milliseconds }
}
#endif
