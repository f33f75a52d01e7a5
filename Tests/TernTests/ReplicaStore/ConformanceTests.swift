import Foundation
import ReplicaStoreKit
import Tern
import Testing

@Suite("ReplicaStore: conformance of both stores")
struct ConformanceTests {
  @Test(arguments: ReplicaStoreConformance.Scenario.allCases)
  func `the memory store`(_ scenario: ReplicaStoreConformance.Scenario) throws {
    try ReplicaStoreKind.memory.conformance.run(scenario)
  }

  @Test(arguments: ReplicaStoreConformance.Scenario.allCases)
  func `the SQLite store`(_ scenario: ReplicaStoreConformance.Scenario) throws {
    try ReplicaStoreKind.sqlite.conformance.run(scenario)
  }

  @Test func `invariants have ids of one form`() throws {
    #expect(Invariant.allCases.first?.description == "INV-01")
    #expect(Invariant.allCases.last?.description == "INV-15")
    let json = try JSONEncoder().encode([Invariant.cursorFollowsState])
    #expect(String(decoding: json, as: UTF8.self) == #"["INV-05"]"#)
  }
}
