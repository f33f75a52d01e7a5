import GRDB
import TernTesting
import TestDevice
import Testing

@testable import Tern

/// Two copies of one database meet a device by two remotes, which refused neither.
@Suite("Engine: copies are told by whoever meets both", .timeLimit(.minutes(1)))
struct ToldCopiesTests {
  private static let schema = SyncSchema(version: 1, tables: [SyncTable("item")])
  private static let creation = "CREATE TABLE item (id TEXT NOT NULL PRIMARY KEY)"

  private func device(_ id: UInt64, _ remotes: [MemoryRemote]) throws -> Device {
    let device = try Device(Self.schema, id: id) { try $0.execute(sql: Self.creation) }
    return Device(device.database, device.replica, remotes: remotes)
  }

  private func copy(_ device: Device, _ remotes: [MemoryRemote]) throws -> Device {
    let database = try DatabaseQueue()
    try device.database.backup(to: database)
    let copy = try Device(Self.schema, id: 9, database: database)
    return Device(database, copy.replica, remotes: remotes)
  }

  private func write(_ device: Device, _ id: String) throws {
    try device.execute("INSERT INTO item VALUES ('\(id)')")
  }

  private func ids(_ device: Device) throws -> [String?] {
    try device.column("SELECT id FROM item ORDER BY id")
  }

  private func syncForked(_ engine: SyncEngine, _ author: ReplicaID) async {
    let error = await #expect(throws: RemoteError.self) { try await engine.syncOnce() }
    #expect(error?.code == .sequenceConflict && error?.replica == author)
    #expect(error?.message.contains("an empty database") == true)
  }

  @Test func `both say it once, take new ids, and are heard by everybody from then on`()
    async throws
  {
    let (first, second) = (MemoryRemote(id: "1"), MemoryRemote(id: "2"))
    let phone = try device(1, [first])
    let other = try copy(phone, [second])
    let tablet = try device(2, [first, second])
    let id = try phone.store.replicaID()
    #expect(try other.store.replicaID() == id)
    for (device, name) in [(phone, "phone"), (other, "other"), (tablet, "tablet")] {
      try write(device, name)
    }
    for device in [phone, other] { try await device.engines[0].syncOnce() }
    try await tablet.engines[0].syncOnce()
    for _ in 1...2 { await syncForked(tablet.engines[1], id) }
    try await tablet.engines[0].syncOnce()
    // One operation, however often it syncs.
    let count = try tablet.store.ownHead().sequence
    #expect(count == 2)

    let witness = try tablet.store.replicaID()
    for device in [phone, other] {
      let engine = device.engines[0]
      await syncForked(engine, id)
      #expect(engine.status.current.idChange?.former == id)
      let forks = engine.status.current.forks
      #expect(forks.map(\.witness) == [witness] && forks.map(\.replica) == [id])
      try await engine.syncOnce()
      try write(device, "again \(engine.status.current.idChange!.current)")
      try await engine.syncOnce()
      let inspected = try await device.database.read { try ReplicaReader.all(in: $0, path: "") }
      #expect(inspected.map(\.forks) == [forks])
      let findings = try await device.database.read { try DatabaseDiagnosis($0).findings }
      #expect(findings.isEmpty, "\(findings)")
    }
    for _ in 1...2 {
      try await tablet.engines[0].syncOnce()
      await syncForked(tablet.engines[1], id)
    }
    for device in [phone, other] { try await device.engines[0].syncOnce() }
    let again = try ids(tablet).filter { $0?.hasPrefix("again") == true }
    #expect(again.count == 2)
    #expect(try ids(tablet) == (again + ["phone", "tablet"]))
    #expect(try ids(phone) == (again + ["phone", "tablet"]))
    #expect(try ids(other) == (again + ["other", "tablet"]))
    #expect(first.operations.count == second.operations.count)
    for device in [phone, other, tablet] {
      #expect(try device.store.counts().pending.isEmpty)
    }

    // No undo is about what it told, and what somebody told can be forgotten.
    _ = try await tablet.replica.undo()
    #expect(try ids(tablet) == again + ["phone"])
    let fork = try #require(try phone.store.counts().forks.first)
    let isKnown = try await phone.replica.forget(remoteID: fork.remote)
    #expect(isKnown)
    #expect(try phone.store.counts().forks.isEmpty)
  }
}
