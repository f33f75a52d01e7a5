#if Server && Rehearsal
import Tern

/// Since when each waiting job could have been started, in virtual milliseconds: what the latest
/// moment is at which a worker that misses nothing starts it.
struct JobTiming {
  private var ready: [Int64: Int64] = [:]
  /// When a service's gate changed last, or reopens.
  private var gates: [String: Int64] = [:]
  /// When a kind, or all, may have been resumed last.
  private var resumed: Int64 = 0
  /// Nothing could be started before: no worker, no free slot, a locked database.
  private var blocked: Int64 = 0
  /// Of that, nothing at all could be done before.
  private var halted: Int64 = 0
  private var runs: Set<Int> = []

  mutating func block(until time: Int64) {
    halted = max(halted, time)
    occupy(until: time)
  }

  /// No job could be started.
  mutating func occupy(until time: Int64) { blocked = max(blocked, time) }

  /// Another process wrote it: the worker looks once a second.
  mutating func becomesVisible(_ id: Int64, at time: Int64) { ready[id] = time }

  mutating func resumes(at time: Int64) { resumed = max(resumed, time) }

  mutating func runBegan(_ run: Int, now: Int64) {
    if runs.isEmpty { block(until: now) }
    runs.insert(run)
  }

  /// Another process's worker looks once a second whether it is its turn.
  mutating func runEnded(_ run: Int, now: Int64) {
    runs.remove(run)
    block(until: now + 1000)
  }

  /// Ends come before claims: what they freed is free in the same commit.
  mutating func committing(_ commit: JobCommit, now: Int64, concurrency: Int) {
    if commit.before.values.count(where: { $0.state == .running }) >= concurrency {
      occupy(until: now)
    }
    for (service, gate) in commit.gatesBefore
    where gate.probe.map(commit.hasEnded) ?? false { gates[service] = now }
  }

  mutating func committed(_ commit: JobCommit, now: Int64, wall: Int64) {
    for (id, row) in commit.after where commit.before[id] != row && row.state == .waiting {
      ready[id] = max(ready[id] ?? 0, now + max(row.ready - wall, 0))
      if let old = commit.before[id], old.state == .waiting {
        // Woken or mended: what counts is the new time.
        ready[id] = now + max(row.ready - wall, 0)
      }
    }
    for (id, row) in commit.after where row.state != .waiting { ready[id] = nil }
    for (service, gate) in commit.gatesAfter where commit.gatesBefore[service] != gate {
      gates[service] = now + max(gate.reopens - wall, 0)
    }
    for service in commit.gatesBefore.keys where commit.gatesAfter[service] == nil {
      gates[service] = now
    }
  }

  /// Something succeeded at a service that had failed.
  mutating func restored(_ service: String, now: Int64) {
    gates[service] = max(gates[service] ?? 0, now)
  }

  /// The clock was set: a worker that sleeps looks at it once a second.
  mutating func wallJumped(
    _ rows: [Int64: JobRow], _ gateRows: [String: GateRow], now: Int64, wall: Int64
  ) {
    for (id, row) in rows where row.state == .waiting {
      ready[id] = now + max(row.ready - wall, 0) + 1000
    }
    for (service, gate) in gateRows { gates[service] = now + max(gate.reopens - wall, 0) + 1000 }
    block(until: now + 1000)
  }

  /// From when on a worker could do what was there at a time; `nil` while there is none.
  func free(_ time: Int64) -> Int64? { runs.isEmpty ? nil : max(time, halted) }

  func lateness(of row: JobRow, now: Int64) -> Int64? {
    guard let ready = ready[row.id] else { return nil }
    return now - max(ready, gates[row.service] ?? 0, blocked, resumed)
  }
}
#endif
