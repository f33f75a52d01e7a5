import GRDB
import Tern
import TestDevice
import Testing

/// The beginning of a group whose rest may never come, and what a snapshot makes of it.
@Suite("Snapshot: groups of which only the beginning came")
struct GroupBeginningTests {
  private static let gone = ReplicaID(high: 7, low: 7)

  private func operation(
    _ sequence: UInt64, at milliseconds: Int64 = 1_700_000_000_000, continues: Bool = true
  ) -> SyncOperation {
    SyncOperation(
      .init(
        replica: Self.gone, sequence: sequence, time: HybridTime(milliseconds: milliseconds),
        continues: continues), body: [])
  }

  private func device(_ id: UInt64, _ operations: SyncOperation...) throws -> Device {
    let device = try Shelf.device(id)
    try device.execute("INSERT INTO shelf VALUES ('\(id)', 'of \(id)')")
    try device.merge(operations)
    try device.store.seal()
    return device
  }

  @Test func `it travels with the snapshot, and a remote hears of what it has of it`() throws {
    let parts = try Parts(of: device(1, operation(1), operation(2), operation(3)))
    let summary = try #require(parts.summary)
    #expect(summary.versionVector[Self.gone] == 0)
    #expect(summary.beginnings[Self.gone]?.sequence == 3)
    for (known, told) in [(0, nil), (2, 2), (3, 3), (5, 3)] as [(UInt64, UInt64?)] {
      #expect(summary.heads(at: VersionVector([Self.gone: known]))[Self.gone]?.sequence == told)
    }
    let fresh = try device(9)
    #expect(try fresh.load(parts).beginnings == summary.beginnings)
    #expect(try fresh.store.storedVersionVector()[Self.gone] == 3)
    #expect(try fresh.store.versionVector()[Self.gone] == 0)
    // The next one ends the group, and the one after is another.
    try fresh.merge([operation(4, continues: false), operation(5, at: 1_700_000_000_001)])
    #expect(try fresh.store.versionVector()[Self.gone] == 4)
    // Who has more of it keeps that.
    #expect(try fresh.load(parts).mergedAgain == 6)
    #expect(try fresh.store.versionVector()[Self.gone] == 4)
    #expect(try fresh.store.storedVersionVector()[Self.gone] == 5)
    #expect(try fresh.database.read { try DatabaseDiagnosis($0).findings } == [])
  }

  @Test func `a snapshot that ends the group is loaded where its beginning is`() throws {
    let parts = try Parts(of: device(1, operation(1), operation(2, continues: false)))
    let behind = try device(2, operation(1))
    try behind.load(parts, from: RemotePlace(remoteID: "r", epoch: "e", cursor: nil))
    #expect(try behind.store.versionVector()[Self.gone] == 2)
    #expect(try behind.database.read { try DatabaseDiagnosis($0).findings } == [])
  }

  @Test func `it keeps nobody from comparing states`() throws {
    let device = try device(1, operation(1))
    try device.store.resetPlace(
      RemotePlace(remoteID: "peer", epoch: "e", cursor: RemoteCursor(rawValue: "1")))
    let stored = try device.store.storedVersionVector()
    #expect(try device.store.stateReport(at: "peer", merged: stored) != nil)
    #expect(
      try device.store.stateReport(at: "peer", merged: device.store.versionVector()) == nil)
  }

  @Test func `of a copy with other operations it is left out`() throws {
    let parts = try Parts(of: device(1, operation(1), operation(2)))
    let other = try device(9, operation(1, at: 1_699_999_999_000, continues: false))
    try other.load(parts)
    #expect(try other.store.storedVersionVector()[Self.gone] == 1)
    #expect(try other.store.versionVector()[Self.gone] == 1)
    #expect(try other.database.read { try DatabaseDiagnosis($0).findings } == [])
  }

  @Test func `its time moves no clock`() throws {
    let device = try device(1, operation(1, at: 60_000_000_000_000))
    try device.store.restamp(after: 0, at: "peer", nowMilliseconds: 1_700_000_000_000)
    try device.execute("UPDATE shelf SET name = 'later'")
    try device.store.seal()
    let last = try device.store.operations(lackedBy: VersionVector(), maximumBytes: .max)
      .last { $0.envelope.replica != Self.gone }
    let time = try #require(last?.envelope.time.milliseconds)
    #expect(time < 59_000_000_000_000)
  }
}
