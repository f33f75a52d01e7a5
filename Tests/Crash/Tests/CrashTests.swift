#if Server && Rehearsal && (os(Linux) || os(macOS))
import CrashKit
import Foundation
import Rehearsals
@_spi(Rehearsal) import Tern
import Testing

/// No acknowledged write lost, none twice, with real processes, files and sockets.
@Suite("Crashes of real processes", .serialized, .timeLimit(.minutes(5)))
struct CrashTests {
  @Test("processes killed at every named point lose nothing and repeat nothing")
  func points() async {
    let points = CrashPoint.ofSync.rehearsed(oneOf: 4)
    let tally = await run(.at(points, seed: Rehearsal.isLong ? 1 : Rehearsal.seed))
    print(tally.table)
    #expect(tally.violations == [])
    for point in points {
      #expect(tally.killed[point, default: 0] > 0, "nobody died at \(point.rawValue)")
    }
  }

  @Test("processes killed at random moments lose nothing and repeat nothing")
  func random() async {
    let kills = Rehearsal.count(100, short: 20)
    let tally = await run(.atRandom(kills, seed: Rehearsal.isLong ? 1 : Rehearsal.seed))
    print(tally.table)
    #expect(tally.violations == [])
    #expect(tally.killCount == kills)
  }

  @Test("processes killed while they migrate, recover or adopt lose nothing and repeat nothing")
  func opening() async {
    let points = CrashPoint.ofOpening.rehearsed(oneOf: 4)
    let kills = Rehearsal.count(100, short: 10)
    let seed = Rehearsal.isLong ? 1 : Rehearsal.seed
    var tally = await run(.at(points, seed: seed))
    tally.add(await run(.atRandom(kills, opening: true, seed: seed)))
    print(tally.table)
    #expect(tally.violations == [])
    for point in points {
      #expect(tally.killed[point, default: 0] > 0, "nobody died at \(point.rawValue)")
    }
    #expect(tally.killedOpening > 0)
    #expect(tally.writtenByOthers > 0)
  }

  @Test("what others write after a death in a migration is missed if Tern keeps no rows for it")
  func withoutRows() async {
    var conditions = FleetConditions()
    conditions.forgetsRows = true
    let tally = await run(.small([KillPlan(.openAfterLift)], under: conditions))
    #expect(tally.violations.contains { $0.contains("is lost") || $0.contains("and its writes") })
  }

  @Test("devices that promise less than they are tested for are found to lose writes")
  func lessDurable() async {
    var conditions = FleetConditions()
    conditions.durability = .processCrash
    conditions.losesPower = true
    // Several fleets, for one can be lucky: what is lost depends on when each process dies.
    let plans = (1...6).map { KillPlan(count: 4, seed: $0) }
    let tally = await run(.small(plans, under: conditions))
    #expect(tally.violations.contains { $0.contains("and came back at") })
  }

  @Test(
    "a bug that loses or repeats writes is found",
    arguments: [Planted.noteLost, .counterCountedTwice].rehearsed(oneOf: 2))
  func planted(_ bug: Planted) async {
    var conditions = FleetConditions()
    conditions.bug = bug
    let tally = await run(.small(under: conditions))
    // What was written and what is there differ; that a fleet could not be made says nothing.
    let signs = ["and its writes", "another state than", "last text", "is at most"]
    #expect(
      tally.violations.contains { violation in signs.contains { violation.contains($0) } },
      "\(tally.violations)")
  }

  /// Waiting for processes would hold up other tests on Swift's own threads.
  private func run(_ campaign: CrashCampaign) async -> CrashTally {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: campaign.run()) }
    }
  }
}
#endif
