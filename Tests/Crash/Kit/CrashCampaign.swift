#if os(Linux) || os(macOS)
import Dispatch
import Synchronization
@_spi(Rehearsal) import Tern

/// Many fleets, two at a time.
package struct CrashCampaign: Sendable {
  /// Processors of the smallest machine that runs this.
  static let fleetsAtOnce = 2
  static let killsPerFleet = 10

  let plans: [KillPlan]
  let seed: UInt64
  /// Of every fleet, or `nil` where in every second one dying is losing power.
  var conditions: FleetConditions?

  /// Kills at each of the points.
  package static func at(
    _ points: [CrashPoint] = CrashPoint.ofSync + CrashPoint.ofOpening, seed: UInt64 = 1
  ) -> CrashCampaign {
    CrashCampaign(plans: points.map { KillPlan($0) }, seed: seed)
  }

  /// Kills at random moments, several in each fleet.
  package static func atRandom(_ count: Int, opening: Bool = false, seed: UInt64 = 1)
    -> CrashCampaign
  {
    let plans = stride(from: 0, to: count, by: killsPerFleet).map { first in
      KillPlan(
        count: min(killsPerFleet, count - first), opening: opening, seed: seed &+ UInt64(first))
    }
    return CrashCampaign(plans: plans, seed: seed)
  }

  /// The same for each of two small fleets, to see that what goes wrong there is found.
  package static func small(
    _ plans: [KillPlan] = (1...2).map { KillPlan(count: 4, seed: $0) },
    under conditions: FleetConditions
  ) -> CrashCampaign {
    CrashCampaign(plans: plans, seed: 1, conditions: conditions)
  }

  /// Blocks until the last fleet has ended.
  package func run() -> CrashTally {
    let tally = Mutex(CrashTally())
    let next = Mutex(0)
    DispatchQueue.concurrentPerform(iterations: Self.fleetsAtOnce) { _ in
      while true {
        let index = next.withLock { next in
          defer { next += 1 }
          return next
        }
        guard index < plans.count else { return }
        var usual = FleetConditions()
        usual.losesPower = index % 2 == 1
        let result = Fleet.run(
          plans[index], seed: seed &+ UInt64(index), under: conditions ?? usual)
        tally.withLock { $0.add(result) }
      }
    }
    return tally.withLock { $0 }
  }
}
#endif
