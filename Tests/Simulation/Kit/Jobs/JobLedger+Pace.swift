#if Server && Rehearsal
import GRDB
import Tern
import TernJobs
import TernTesting

/// What a pace and a budget let happen, counted beside the queue.
struct JobPacing {
  /// When jobs were started, by lane, since the wall clock was set last.
  private var starts: [String: [Int64]] = [:]
  /// When attempts failed at a service, since its budget was last whole, and when they succeeded.
  private var failures: [String: [Int64]] = [:]
  private var successes: [String: [Int64]] = [:]
  /// Whose budget is not whole, before the commit that is looked at or after it.
  private(set) var troubled: Set<String> = []
  /// When another network made budgets whole last, in virtual time.
  private var restoredAt: Int64?

  mutating func wallJumped() {
    (starts, failures, successes) = ([:], [:], [:])
    restoredAt = nil
  }

  /// - Returns: how long it is since the last time.
  mutating func restored(now: Int64) -> Int64? {
    defer { restoredAt = now }
    return restoredAt.map { now - $0 }
  }

  mutating func look(_ services: Set<String>, _ before: Set<String>) {
    troubled = services.union(before)
    for service in before.subtracting(services) {
      (failures[service], successes[service]) = (nil, nil)
    }
  }

  /// - Returns: how many starts there were within which time, when that is more than a rate lets.
  mutating func started(_ lane: String, _ rate: JobRate, now: Int64) -> (Int, Int64)? {
    starts[lane, default: []].append(now)
    return excess(starts[lane]!, rate, rate.burst, now)
  }

  mutating func failed(
    _ service: String, _ budget: JobRate, concurrency: Int, now: Int64
  ) -> (Int, Int64)? {
    failures[service, default: []].append(now)
    // What ran before the first failure can fail beyond the budget.
    return excess(
      failures[service]!, budget, max(budget.burst, concurrency), now,
      credits: successes[service, default: []])
  }

  /// Is worth one failure.
  mutating func succeeded(_ service: String, now: Int64) {
    successes[service, default: []].append(now)
  }

  private func excess(
    _ times: [Int64], _ rate: JobRate, _ burst: Int, _ now: Int64, credits: [Int64] = []
  ) -> (Int, Int64)? {
    for (index, time) in times.enumerated() {
      let (count, length) = (times.count - index, now - time)
      // What is stored is rounded to milliseconds.
      let earned = credits.count { $0 >= time }
      if count > burst + earned + Int((length + 2) / rate.interval.wholeMilliseconds) {
        return (count, length)
      }
    }
    return nil
  }
}

extension JobLedger {
  /// Whether something beside time, gates and pauses may hold it back.
  func isPaced(_ row: JobRow) -> Bool {
    !row.needs.isEmpty || plan.paces[row.kind] != nil
      || (plan.budget != nil && pacing.troubled.contains(row.service))
  }

  func checkPaces(_ commit: JobCommit) {
    let rows = commit.after.values.sorted { $0.id < $1.id }
    for row in rows where commit.isClaimed(row.id) {
      for (lane, pace) in paces(row) {
        guard let rate = pace.rate else { continue }
        if let (count, length) = pacing.started(lane, rate, now: clock.milliseconds) {
          fail(.drains, "\(count) jobs of \(lane) were started within \(length) ms")
        }
      }
    }
    var running: [String: Int] = [:]
    for row in rows where row.state == .running {
      for (lane, pace) in paces(row) {
        running[lane, default: 0] += 1
        if let limit = pace.concurrency, running[lane]! > limit {
          fail(.drains, "\(running[lane]!) jobs of \(lane) run at once")
        }
      }
    }
  }

  private func paces(_ row: JobRow) -> [(lane: String, pace: JobPace)] {
    guard let pace = plan.paces[row.kind] else { return [] }
    let ofKind = [(row.kind, pace.kind)]
    return row.lane.isEmpty ? ofKind : ofKind + [(row.laneOfKind, pace.lane)]
  }

  /// Another network made budgets whole before their time.
  func checkRestoration() {
    // What is stored is rounded to milliseconds.
    if let time = pacing.restored(now: clock.milliseconds), time < 59_990 {
      fail(.drains, "budgets were restored \(time) ms after the last time")
    }
  }

  /// An attempt of a service failed, so that it is a sign of what is the matter with that.
  func checkBudget(
    _ row: JobRow, _ advice: FailureAdvice, _ attempt: JobEntry.Attempt, _ end: JobEntry.End
  ) {
    guard let budget = plan.budget, !row.service.isEmpty else { return }
    switch advice {
    case .permanent, .limited: return
    case .failed, .interrupted(isLocal: true): break
    case .interrupted, .unreachable:
      let now = path.path
      guard now.hasRoute, end.path == now, attempt.before.allSatisfy({ $0 == now }) else { return }
    }
    if let (count, length) = pacing.failed(
      row.service, budget, concurrency: plan.concurrency, now: clock.milliseconds)
    {
      fail(.drains, "\(count) attempts failed at \(row.service) within \(length) ms")
    }
  }
}
#endif
