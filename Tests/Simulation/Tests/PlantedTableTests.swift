#if Server && Rehearsal
import Foundation
import SimulationKit
import Testing
import TernCore

@Suite struct PlantedTableTests {
  @Test func `the documentation's tables name every planted bug`() throws {
    let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
    let text = try String(
      contentsOf: root.appending(path: "Docs/Testing.md"), encoding: .utf8)
    #expect(try PlantedTable.names(of: "sync", in: text) == Planted.ofSync.map(\.rawValue))
    #expect(try PlantedTable.names(of: "jobs", in: text) == Planted.ofJobs.map(\.rawValue))
    #expect(Set(Planted.ofSync + Planted.ofJobs) == Set(Planted.allCases))
    #expect(Planted.allCases.count >= 15)
  }
}
#endif
