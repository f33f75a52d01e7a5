#if Server && Rehearsal
import GRDB
import Tern
import TernTesting

/// What may become of gates, of the order of jobs, and of what is bounded, in one transaction.
struct GateCheck {
  let ledger: JobLedger
  let commit: JobCommit
  private var now: Int64 { ledger.now }

  func checkGates() {
    let services = Set(commit.gatesBefore.keys).union(commit.gatesAfter.keys).sorted()
    for service in services {
      let (old, new) = (commit.gatesBefore[service], commit.gatesAfter[service])
      if old == new { continue }
      ledger.trace.note("gate \(service) → \(new.map { describe($0) } ?? "open")")
      defer { heard(service) }
      let jobs = Set(commit.before.keys).union(commit.after.keys)
      let ofService = jobs.filter { (commit.before[$0] ?? commit.after[$0])?.service == service }
      check(service, old, new, ofService)
    }
  }

  /// What a service said to jobs that are gone is told once.
  private func heard(_ service: String) {
    for (id, entry) in ledger.entries
    where commit.after[id]?.hasEnded ?? true && entry.attempt?.service == service
      && entry.attempt?.end != nil
    {
      ledger.entries[id]?.attempt = nil
    }
  }

  private func describe(_ gate: GateRow) -> String {
    "closed for \(gate.reopens - now) ms, probe \(gate.probe.map { "\($0)" } ?? "none")"
  }

  private func check(
    _ service: String, _ old: GateRow?, _ new: GateRow?, _ jobs: Set<Int64>
  ) {
    let ended = jobs.filter(commit.hasEnded)
    guard let new else {
      let isPassed = old?.probe.map { probe in
        commit.draft.checkpoints[probe] != nil
          || (ended.contains(probe) && ledger.entries[probe]?.isDone == true)
      }
      // A worker that begins drops what has reopened and nobody waits for.
      let isAwaited = jobs.contains { job in
        [.waiting, .running].contains(commit.after[job]?.state)
      }
      let isDropped = !isAwaited && old.map { $0.reopens <= now } ?? false
      if isPassed != true, !isDropped {
        ledger.fail(.drains, "the gate of \(service) opened without a probe")
      }
      return
    }
    let told = ledger.limited[service]
    let isLimited = told != nil
    if let told, case let late = new.reopens - max(told, old?.reopens ?? 0), late > 1 {
      ledger.fail(.drains, "the gate of \(service) reopens \(late) ms later than anybody said")
    }
    guard let old else {
      if !isLimited { ledger.fail(.drains, "the gate of \(service) closed by itself") }
      return
    }
    if let probe = new.probe, probe != old.probe {
      if old.probe.map({ !commit.hasEnded($0) }) ?? false || !commit.isClaimed(probe) {
        ledger.fail(.drains, "job \(probe) became the probe of \(service)")
      }
    } else if let probe = old.probe, new.probe == nil, !ended.contains(probe), !isLimited {
      ledger.fail(.drains, "job \(probe), running, is no longer the probe of \(service)")
    }
    let isMended = old.since > new.since && new.reopens - new.since == old.reopens - old.since
    if new.reopens != old.reopens, !isLimited, !isMended {
      ledger.fail(.drains, "the gate of \(service) reopens at another time")
    }
  }

  /// Nobody that is ready is passed by one that became ready later.
  func checkOrder() {
    let claimed = commit.after.values.filter { commit.isClaimed($0.id) }
    guard let last = claimed.max(by: { $0.place < $1.place }) else { return }
    for row in commit.after.values.sorted(by: { $0.id < $1.id })
    where row.state == .waiting && row.isDue && !ledger.isPaced(row)
      && ledger.entries[row.id]?.full == nil
      && commit.gatesBefore[row.service] == nil
      && commit.gatesAfter[row.service] == nil && !commit.pauses.isPaused(row.kind)
      && commit.before[row.id] == row && row.place < last.place
    {
      ledger.fail(.drains, "job \(last.id) passed job \(row.id), which was ready before it")
    }
  }

  func checkLimits(_ db: Database) throws {
    let limits = ledger.plan.limits
    let done = commit.after.values.filter(\.hasEnded).count
    if done > limits.keptDone {
      ledger.fail(.limitsHold, "\(done) done jobs are kept, of \(limits.keptDone)")
    }
    // Beyond the first limit only a job's own commit goes, and only so far.
    let before = commit.before.values.filter { !$0.hasEnded }.count
    let count = commit.after.count - done
    let most = commit.draft.checkpoints.isEmpty ? limits.jobs : limits.jobs + limits.followUps
    if count > max(most, before) {
      ledger.fail(.limitsHold, "\(count) jobs are not done, of \(most)")
    }
    let ended = commit.before.keys.contains {
      commit.after[$0]?.state != commit.before[$0]?.state
    }
    guard ended || !commit.draft.checkpoints.isEmpty || !commit.draft.enqueued.isEmpty else {
      return
    }
    for (table, limit) in [
      ("grdb_tern_jobcheckpoint", limits.checkpointsPerJob),
      ("grdb_tern_jobfile", limits.filesPerJob),
      ("grdb_tern_joberror", limits.failedAttemptsPerJob),
    ] {
      let cursor = try Row.fetchCursor(
        try db.cachedStatement(sql: "SELECT job, count(*) FROM \(table) GROUP BY job"))
      while let row = try cursor.next() {
        let (job, count): (Int64, Int) = (row[0], row[1])
        if count > limit { ledger.fail(.limitsHold, "job \(job) has \(count) rows in \(table)") }
        if commit.after[job]?.hasEnded ?? true {
          ledger.fail(
            .limitsHold, "\(table) keeps rows of job \(job), which has ended or is gone")
        }
      }
    }
  }
}
#endif
