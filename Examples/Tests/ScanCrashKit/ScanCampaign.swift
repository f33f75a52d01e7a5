import ExampleProcesses
import ExampleRehearsals
import Foundation
import Synchronization
import Tern
import TernTesting

/// Many rounds, some at a time: they wait for the service more than they work.
package struct ScanCampaign: Sendable {
  static let lanes = 6
  static let killsPerRound = 8
  /// The books in the photo.
  static let catalogue = """
    title,authors,isbn
    An Inland Viaduct,"Dov Kvistad, Søren Fennimore",9780001000018
    The Velvet Ferryman,Adela Carrow,9780002000024
    Letters to an Estuary,Pascoe Aldercott,9780003000030
    """
  static let isbns = ["9780001000018", "9780002000024", "9780003000030"]

  struct Plan: Sendable {
    var kill: ScanKill
    var misbehaviour: ScanMisbehaviour
    var name: String { "\(kill), \(misbehaviour.name)" }
  }

  let plans: [Plan]

  /// Every boundary with every misbehaviour.
  package static func matrix(of kills: [ScanKill] = ScanKill.boundaries) -> ScanCampaign {
    ScanCampaign(
      plans: kills.flatMap { kill in
        ScanMisbehaviour.allCases.map { Plan(kill: kill, misbehaviour: $0) }
      })
  }

  /// Those whose name contains a text, such as `scan.after-send:1, cut-stream`.
  package func filtered(by text: String) -> ScanCampaign {
    ScanCampaign(plans: plans.filter { $0.name.contains(text) })
  }

  /// Whole, or in a short rehearsal one of each `stride` rounds.
  package func rehearsed(oneOf stride: Int) -> ScanCampaign {
    ScanCampaign(plans: plans.rehearsed(oneOf: stride))
  }

  /// Under any misbehaviour but the day's quota: with that nothing runs until midnight, and nobody
  /// could be killed.
  package static func atRandom(_ count: Int, seed: UInt64 = 1) -> ScanCampaign {
    let kinds = ScanMisbehaviour.allCases.filter { $0 != .dailyQuota }
    return ScanCampaign(
      plans: stride(from: 0, to: count, by: killsPerRound).map { first in
        let seed = seed &+ UInt64(first)
        var generator = SeededGenerator(seed: seed)
        return Plan(
          kill: .atRandom(min(killsPerRound, count - first), seed: seed),
          misbehaviour: kinds.randomElement(using: &generator)!)
      })
  }

  package func run() async -> ScanTally {
    let queue = PlanQueue(plans)
    return await withTaskGroup(of: ScanTally.self) { group in
      for _ in 0..<min(Self.lanes, plans.count) {
        group.addTask { await ScanLane.run(queue) }
      }
      return await group.reduce(into: ScanTally()) { $0.add($1) }
    }
  }
}

/// From which every lane takes what is next.
final class PlanQueue: Sendable {
  private let plans: Mutex<ArraySlice<ScanCampaign.Plan>>

  init(_ plans: [ScanCampaign.Plan]) { self.plans = Mutex(plans[...]) }

  /// `nil` after the last one.
  func next() -> ScanCampaign.Plan? { plans.withLock { $0.popFirst() } }
}
