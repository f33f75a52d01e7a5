#if Server
import TernServer
import TernServerTesting
import TernTesting
import Testing

@testable import TernServer

@Suite("Store: conformance of every store", .timeLimit(.minutes(2)))
struct SpaceStoreConformanceTests {
  @Test(arguments: SpaceStoreConformance.Scenario.allCases, StoreKind.allCases)
  func `every store of the server`(
    _ scenario: SpaceStoreConformance.Scenario, _ kind: StoreKind
  ) throws {
    let opened = try kind.open(hasRules: false)
    let conformance = SpaceStoreConformance {
      opened.store
    } reopen: { _ in
      try opened.reopened()
    }
    try conformance.run(scenario)
    withExtendedLifetime(opened.examination) {}
  }

  @Test func `a whole run ends without a finding`() throws {
    let conformance = SpaceStoreConformance {
      var generator = SeededGenerator(state: 2)
      return MemorySpaceStore(using: &generator)
    }
    #expect(throws: Never.self) { try conformance.run() }
    let names = SpaceStoreConformance.Scenario.allCases.map(\.rawValue)
    #expect(Set(names).count == names.count && names.count > 35)
  }

  /// A store's fault, and the scenarios that find it, among others maybe.
  private static let faults: [(FaultyStore.Fault, [SpaceStoreConformance.Scenario])] = [
    (.repeatsPosition, [.positions, .chain, .pageBytes, .pageOperations]),
    (.keepsThrown, [.rollback]), (.makesThrown, [.unmade]), (.tokensUnordered, [.tokens]),
    (.ignoresBytes, [.pageBytes]), (.ignoresOperations, [.pageOperations, .excluded]),
    (.ignoresExcluded, [.excluded]), (.hidesBase, [.pageBase]), (.showsUploads, [.upload]),
    (.losesLeases, [.leases]), (.losesRecords, [.records]), (.keepsNothing, [.keepingMost]),
    (.countsOneSpace, [.keepingMost]),
    (.keepsRemoved, [.removed]), (.removesBeside, [.remains]), (.countsKept, [.release, .kept]),
    (.losesUpdates, [.positions, .together]), (.newEpoch, [.epoch]),
    (.makesRead, [.empty]), (.sharesLeases, [.apart]), (.countsNoSpaces, [.made]),
    (.givesAllHeads, [.keys]), (.chainsBeyond, [.chain]), (.losesBaseHeads, [.base]),
    (.passesHeld, [.held]), (.keepsBases, [.passed]), (.keepsFirstReport, [.state]),
    (.keepsQuota, [.quota]), (.forgetsEpoch, [.standing]),
    (.keepsDeadlines, [.deadlines]), (.snapshotsUnordered, [.newest]), (.keepsDropped, [.dropped]),
    (.droppedUnordered, [.kept, .bringBack]), (.bringsBackOver, [.bringBack]),
    (.forgetsNothing, [.forgotten]), (.trimsMore, [.trim]), (.releasesAll, [.release]),
    (.emptiesAll, [.removeTrimmed]), (.countsNothingBack, [.untrim]), (.hidesOwn, [.reads]),
    (.mixesMarks, [.marks, .reads]), (.countsBanned, [.authors]), (.countsForAll, [.counted]),
    (.givesAllMembers, [.members]), (.findsAllTokens, [.several]), (.placesAbsent, [.places]),
    (.forgetsExpiry, [.replaced]), (.staysSuspended, [.suspension]),
    (.mixesRecords, [.audit]), (.forgetsRemoval, [.auditRemoval]),
    (.keepsOldRecords, [.auditBound]),
  ]

  @Test func `every scenario is failed by a fault, and every fault fails one`() {
    #expect(
      Set(Self.faults.flatMap(\.1)) == Set(SpaceStoreConformance.Scenario.allCases))
    #expect(Set(Self.faults.map(\.0)) == Set(FaultyStore.Fault.allCases))
  }

  @Test(arguments: faults)
  func `a store with a fault fails`(
    _ fault: FaultyStore.Fault, _ scenarios: [SpaceStoreConformance.Scenario]
  ) throws {
    var generator = SeededGenerator(state: 1)
    let seed = MemorySpaceStore(using: &generator)
    let conformance = SpaceStoreConformance {
      FaultyStore(MemorySpaceStore(copying: seed), fault)
    } reopen: { store in
      try #require(store as? FaultyStore).reopened()
    }
    for scenario in scenarios {
      #expect(throws: ConformanceFailure.self, "\(scenario.rawValue)") {
        try conformance.run(scenario)
      }
    }
  }
}
#endif
