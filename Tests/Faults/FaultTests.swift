import Foundation
import Testing

/// Every write, sync, read and removal of these scenarios fails once, or is the last of its program.
@Suite("Faults of the disk", .serialized)
struct FaultTests {
  static func scenarios() throws -> [any Sweepable] {
    try atFixedTime {
      var scenarios: [any Sweepable] = [
        Scenario.firstOpen, Scenario.adoption, try Scenario.migration(), Scenario.appWrites,
        Scenario.replicaWrites, Scenario.remoteNews, try Scenario.newRows(),
        try Scenario.conflicts(), try Scenario.held(), try Scenario.deletes(),
        try Scenario.triggers(), Scenario.checkpoints, Scenario.journal, try Scenario.snapshot(),
        try Scenario.trimming(), try Scenario.copy(isTrimmed: false),
        try Scenario.copy(isTrimmed: true), try Scenario.clockAhead(), Scenario.jobs,
        Scenario.readJobs, Scenario.deaths,
      ]
      #if Server
      scenarios += [
        Scenario.serverOpen, try Scenario.serverPush(), try Scenario.serverKeeping(),
      ]
      #endif
      return scenarios
    }
  }

  /// What each begins with is made once.
  static let all = Result { try scenarios() }

  @Test(
    "nothing acknowledged is lost and nothing is there in part",
    arguments: try all.get().map(\.name))
  func sweep(name: String) throws {
    let scenario = try #require(try Self.all.get().first { $0.name == name })
    let clock = ContinuousClock()
    let start = clock.now
    let tally = try scenario.sweep(Fault.allCases)
    print("faults, \(name): \(tally.summary); \(tally.runs) runs, \(clock.now - start)")
    #expect(tally.failures.prefix(20) == [])
    // Most programs here remove nothing.
    let untried = Fault.allCases.filter {
      tally.tried[$0, default: 0] == 0 && $0 != .removalError
    }
    #expect(untried.isEmpty)
  }

  /// `TERN_FAULT` names a scenario, or what a failure named: `migration:power-loss:17:0`.
  private static let named = ProcessInfo.processInfo.environment["TERN_FAULT"]

  @Test(
    "one of them, by its name", .enabled(if: named != nil, "TERN_FAULT names none"))
  func replay() throws {
    let parts = try #require(Self.named).split(separator: ":").map(String.init)
    let scenario = try #require(try Self.all.get().first { $0.name == parts.first })
    if parts.count == 1 { return try sweep(name: scenario.name) }
    try #require(parts.count == 4, "a scenario, a fault, a number and a seed")
    let fault = try #require(Fault(rawValue: parts[1]))
    let (number, seed) = (try #require(Int(parts[2])), try #require(UInt64(parts[3])))
    #expect(try scenario.perform(fault, at: number, seed: seed), "the fault hit nothing")
  }
}
