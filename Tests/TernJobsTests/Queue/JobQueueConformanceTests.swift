import GRDB
import Synchronization
import Tern
import TernCore
import TernTesting
import TestProcesses
import Testing

@Suite("Queue: conformance over every database")
struct JobQueueConformanceTests {
  typealias Scenario = JobQueueConformance.Scenario

  private func suite(_ kind: DatabaseKind, in folder: String) -> JobQueueConformance {
    let count = Mutex(0)
    return JobQueueConformance {
      let number = count.withLock { count in
        count += 1
        return count
      }
      return try kind.subject("\(folder)/\(number).sqlite")
    }
  }

  @Test(arguments: DatabaseKind.allCases, Scenario.allCases)
  func `every database keeps what the queue promises`(
    _ kind: DatabaseKind, _ scenario: Scenario
  ) throws {
    try withTemporaryFolder { try suite(kind, in: $0).run(scenario) }
  }

  #if Rehearsal
  /// What each bug of the queue's breaks.
  private static let broken: [Planted: Scenario] = [
    .stepResultApart: .steps, .gateIgnored: .gate, .crashBurnsAttempt: .death,
    .fileUnlinkedBeforeCommit: .files, .claimForgotten: .death, .retryAtOnce: .retry,
    .limitIgnored: .limits, .sweepForgotten: .sweep, .pauseIgnored: .pause,
    .priorityIgnored: .order, .replacedInPart: .replace, .laneOverfilled: .lanes,
    .tokenUntaken: .rate, .budgetIgnored: .budget, .requirementIgnored: .requirement,
    .workRepeated: .retry, .wakeLost: .delay, .fenceForgotten: .attemptLimit,
    .lostRequirementIgnored: .lostRequirement, .budgetsRestoredOften: .budget,
  ]

  // The conformance is a database's, in which uploads are rows like others, and no requests.
  @Test(arguments: Planted.ofJobs.filter { !(Planted.ofUploads + Planted.ofRequests).contains($0) })
  func `a queue with a planted bug does not pass`(_ bug: Planted) throws {
    let scenario = try #require(Self.broken[bug])
    _ = try withTemporaryFolder { folder in
      let failure = #expect(throws: ConformanceFailure.self) {
        try Planted.with(bug) { try suite(.memory, in: folder).run(scenario) }
      }
      print("\(bug.rawValue) fails: \(failure.map { "\($0)" } ?? "not at all")")
    }
  }
  #endif
}

extension DatabaseKind {
  func subject(_ path: String) throws -> JobQueueConformance.Subject {
    let database = try open(path)
    if self == .memory { return .init(database: database) }
    return .init(
      database: database,
      reopen: {
        try database.close()
        return try open(path)
      })
  }
}
