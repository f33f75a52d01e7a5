#if os(Linux) || os(macOS)
import Dispatch
import Synchronization
import Tern

/// Many fleets, two at a time.
package struct CrashCampaign: Sendable {
  /// Processors of the smallest machine that runs this.
  static let fleetsAtOnce = 2
  static let killsPerFleet = 10

  let plans: [KillPlan]
  let seed: UInt64
  /// Anything but `.powerLoss` is for seeing that a loss is found.
  var durability = Durability.powerLoss

  /// Kills at every point.
  package static func atEveryPoint(seed: UInt64 = 1) -> CrashCampaign {
    CrashCampaign(plans: CrashPoint.allCases.map { KillPlan($0) }, seed: seed)
  }

  /// Kills at random moments, several in each fleet.
  package static func atRandom(_ count: Int, seed: UInt64 = 1) -> CrashCampaign {
    let plans = stride(from: 0, to: count, by: killsPerFleet).map { first in
      KillPlan(count: min(killsPerFleet, count - first), seed: seed &+ UInt64(first))
    }
    return CrashCampaign(plans: plans, seed: seed)
  }

  /// Kills that do lose commits, so that a campaign that finds nothing proves something.
  package static func thatLoses() -> CrashCampaign {
    var campaign = CrashCampaign(
      plans: (1...2).map { KillPlan(count: 4, seed: $0) }, seed: 1)
    campaign.durability = .processCrash
    return campaign
  }

  /// Blocks until the last fleet has ended. In every second fleet dying is losing power.
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
        let result = Fleet.run(
          plans[index], seed: seed &+ UInt64(index), durability: durability,
          losesPower: durability == .processCrash || index % 2 == 1)
        tally.withLock { $0.add(result) }
      }
    }
    return tally.withLock { $0 }
  }
}
#endif
