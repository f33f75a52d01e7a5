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
#endif
