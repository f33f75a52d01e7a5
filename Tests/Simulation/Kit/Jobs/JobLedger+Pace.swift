#if Server && Rehearsal
import GRDB
import Tern
import TernTesting

/// What a pace and a budget let happen, counted beside the queue.
struct JobPacing {
  /// When jobs were started, by lane, since the wall clock was set last.
  private var starts: [String: [Int64]] = [:]
  /// When attempts failed at a service, since something last succeeded there.
  private var failures: [String: [Int64]] = [:]
  /// Whose budget is not whole, before the commit that is looked at or after it.
  private(set) var troubled: Set<String> = []
  private var networks: UInt64 = 0

  mutating func wallJumped() { (starts, failures) = ([:], [:]) }

  mutating func look(_ services: Set<String>, _ before: Set<String>) {
    troubled = services.union(before)
  }

  /// - Returns: how many starts there were within which time, when that is more than a rate lets.
  mutating func started(_ lane: String, _ rate: JobRate, now: Int64) -> (Int, Int64)? {
    starts[lane, default: []].append(now)
    return excess(starts[lane]!, rate, rate.burst, now)
  }

  mutating func failed(
    _ service: String, _ budget: JobRate, concurrency: Int, network: UInt64, now: Int64
  ) -> (Int, Int64)? {
    if network != networks { (failures, networks) = ([:], network) }
    failures[service, default: []].append(now)
    // What ran before the first failure can fail beyond the budget.
    return excess(failures[service]!, budget, max(budget.burst, concurrency), now)
  }

  mutating func succeeded(_ service: String) { failures[service] = nil }

  private func excess(
    _ times: [Int64], _ rate: JobRate, _ burst: Int, _ now: Int64
  ) -> (Int, Int64)? {
    for (index, time) in times.enumerated() {
      let (count, length) = (times.count - index, now - time)
      // What is stored is rounded to milliseconds.
      if count > burst + Int((length + 2) / rate.interval.wholeMilliseconds) {
        return (count, length)
      }
    }
    return nil
  }
}

extension JobLedger {
  func isPaced(_ row: JobRow) -> Bool {
    plan.paces[row.kind] != nil || (plan.budget != nil && pacing.troubled.contains(row.service))
  }

  func checkPaces(_ commit: JobCommit) {
    let rows = commit.after.values.sorted { $0.id < $1.id }
    for row in rows where row.state == .running && commit.before[row.id]?.state == .waiting {
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

  /// An attempt of a service failed, so that it is a sign of what is the matter with that.
  func checkBudget(_ row: JobRow, _ advice: FailureAdvice) {
    guard let budget = plan.budget, !row.service.isEmpty else { return }
    switch advice {
    case .permanent, .limited: return
    case .interrupted, .unreachable: if !path.path.hasRoute { return }
    case .failed: break
    }
    if let (count, length) = pacing.failed(
      row.service, budget, concurrency: plan.concurrency, network: path.path.generation,
      now: clock.milliseconds)
    {
      fail(.drains, "\(count) attempts failed at \(row.service) within \(length) ms")
    }
  }
}
#endif
