#if Server && Rehearsal
import Foundation
import Rehearsals
import SimulationKit
import Testing
import TernCore

extension Planted {
  /// The documentation's tables of planted bugs.
  fileprivate static func tables() throws -> String {
    let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
    return try String(contentsOf: root.appending(path: "Docs/Testing.md"), encoding: .utf8)
  }

  /// How the simulation catches the bug: from the seed on that the documentation has, or else by
  /// the first of all.
  func caught() throws -> PlantedTable.Catch? {
    let known = try Rehearsal.seeds(PlantedTable.seeds, catching: rawValue).first
    return try PlantedTable.firstCatch(of: self, from: known ?? 1)
      ?? PlantedTable.firstCatch(of: self)
  }
}

@Suite struct PlantedTableTests {
  @Test func `the documentation's tables name every planted bug`() throws {
    let text = try Planted.tables()
    #expect(Planted.allCases.allSatisfy { PlantedTable.seed(of: $0, in: text) != nil })
    #expect(try PlantedTable.names(of: "sync", in: text) == Planted.ofSync.map(\.rawValue))
    #expect(try PlantedTable.names(of: "jobs", in: text) == Planted.ofJobs.map(\.rawValue))
    #expect(
      try PlantedTable.names(of: "schemas", in: text) == Planted.ofSchemas.map(\.rawValue))
    #expect(try PlantedTable.names(of: "folds", in: text) == Planted.ofFolds.map(\.rawValue))
    #expect(try PlantedTable.names(of: "veils", in: text) == Planted.ofVeils.map(\.rawValue))
    #expect(
      try PlantedTable.names(of: "local rows", in: text) == Planted.ofLocalChildren.map(\.rawValue))
    #expect(try PlantedTable.names(of: "seals", in: text) == Planted.ofSeals.map(\.rawValue))
    #expect(
      try PlantedTable.names(of: "servers", in: text) == Planted.ofServers.map(\.rawValue))
    #expect(try PlantedTable.names(of: "stores", in: text) == Planted.ofStores.map(\.rawValue))
    #expect(try PlantedTable.names(of: "moves", in: text) == Planted.ofMoves.map(\.rawValue))
    #expect(
      try PlantedTable.names(of: "devices", in: text) == Planted.ofDevices.map(\.rawValue))
    #expect(
      try PlantedTable.names(of: "triggers", in: text) == Planted.ofTriggers.map(\.rawValue))
    #expect(
      Set(
        Planted.ofSync + Planted.ofSchemas + Planted.ofFolds + Planted.ofVeils
          + Planted.ofLocalChildren + Planted.ofSeals + Planted.ofServers + Planted.ofStores
          + Planted.ofDevices + Planted.ofTriggers + Planted.ofMoves + Planted.ofJobs)
        == Set(Planted.allCases))
    #expect(Planted.allCases.count >= 15)
  }
}
#endif
