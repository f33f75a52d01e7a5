import GRDB
import Tern
import TestDevice
import Testing

@Suite("Snapshot: trimming the log")
struct LogTrimTests {
  /// A device that keeps nothing for its age, or everything.
  private func device(_ id: UInt64, retention: Duration = .seconds(-60)) throws -> Device {
    try Device(Shelf.schema(.deleteWins), id: id, logRetention: retention) {
      try $0.execute(sql: Shelf.creation)
    }
  }

  private func fill(_ device: Device, _ count: Int = 4) throws {
    for index in 0..<count {
      try device.execute("INSERT INTO shelf VALUES (?, '')", ["\(index)"])
      try device.store.seal()
    }
  }

  @Test func `a log that is kept for ever is trimmed of nothing`() throws {
    for retention in [Duration.seconds(Int64.max), .seconds(Int64.min)] {
      let a = try device(1, retention: retention)
      try fill(a)
      try a.store.trim(heldBy: a.store.versionVector(), at: "peer")
      #expect(try a.store.counts().operations == (retention > .zero ? 4 : 1))
    }
  }

  @Test func `the log forgets what every remote holds, but the newest of each author`() throws {
    let (a, b) = (try device(1), try device(2))
    try fill(a)
    try b.pull(from: a)
    try b.execute("INSERT INTO shelf VALUES ('b', ''), ('c', '')")
    try meet(a, b)
    let vector = try a.store.versionVector()
    try a.store.trim(heldBy: vector, at: "peer")
    #expect(try a.store.counts().operations == 2)
    #expect(try a.store.hasTrimmed(lackedBy: VersionVector()))
    #expect(try !a.store.hasTrimmed(lackedBy: vector))
    // What a remote confirms first is there, and what comes after.
    let id = try a.store.replicaID()
    var heads = vector
    heads[id] -= 1
    try a.execute("UPDATE shelf SET name = 'new'")
    try a.store.seal()
    let served = try a.store.operations(lackedBy: heads, maximumBytes: .max)
    #expect(served.map(\.envelope.sequence) == [4, 5])
    try b.pull(from: a)
    try expectEqual(a, b, "shelf")
    let c = try device(3)
    try c.load(Parts(of: a))
    try expectEqual(a, c, "shelf")
  }

  @Test func `of several remotes the one that has the least decides`() throws {
    let a = try device(1)
    try fill(a)
    let (id, all) = (try a.store.replicaID(), try a.store.versionVector())
    _ = try a.store.offer(
      lackedBy: VersionVector(), repeating: [], maximumBytes: .max, to: "folder")
    try a.store.trim(heldBy: all, at: "home")
    #expect(try a.store.counts().operations == 4)
    try a.store.trim(heldBy: VersionVector([id: 3]), at: "folder")
    #expect(try a.store.counts().operations == 2)
    #expect(try !a.store.hasTrimmed(lackedBy: VersionVector([id: 2])))
  }

  @Test(arguments: [1 << 40, 1 << 63, .max] as [UInt64])
  func `a remote that says it holds what nobody made hides no other's lack`(_ head: UInt64) throws {
    let a = try device(1)
    try fill(a)
    let id = try a.store.replicaID()
    _ = try a.store.offer(
      lackedBy: VersionVector(), repeating: [], maximumBytes: .max, to: "folder")
    try a.store.trim(heldBy: VersionVector([id: head]), at: "liar")
    #expect(try a.store.counts().operations == 4)
    try a.store.trim(heldBy: VersionVector([id: 3]), at: "folder")
    #expect(try a.store.counts().operations == 2)
  }

  @Test func `a remote that is forgotten keeps the log no longer, and one that is used again does`()
    throws
  {
    let a = try device(1)
    try fill(a)
    let (id, all) = (try a.store.replicaID(), try a.store.versionVector())
    _ = try a.store.offer(
      lackedBy: VersionVector(), repeating: [], maximumBytes: .max, to: "former")
    try a.store.noteAccepted(of: 2, by: "former")
    try a.store.resetPlace(
      RemotePlace(remoteID: "former", epoch: "e", cursor: RemoteCursor(rawValue: "1")))
    try a.store.trim(heldBy: VersionVector([id: 2]), at: "former")
    try a.store.trim(heldBy: all, at: "home")
    #expect(try a.store.counts().operations == 3)
    #expect(try a.store.forget(remoteID: "former"))
    #expect(try !a.store.forget(remoteID: "nobody"))
    #expect(try a.store.place(at: "former") == nil)
    #expect(try a.store.place(at: "home") == nil)
    try a.store.trim(heldBy: all, at: "home")
    #expect(try a.store.counts().operations == 1)
    // Others may have from there what it was offered.
    #expect(try a.store.accepted(by: "former") == 2)
    // It is used again.
    try fill(a, 0)
    try a.execute("INSERT INTO shelf VALUES ('5', ''), ('6', '')")
    try a.store.seal()
    _ = try a.store.offer(
      lackedBy: all, repeating: [], maximumBytes: .max, to: "former")
    try a.execute("INSERT INTO shelf VALUES ('7', '')")
    try a.store.seal()
    try a.store.trim(heldBy: a.store.versionVector(), at: "home")
    #expect(try a.store.counts().operations == 3)
  }

  @Test func `what is younger than the log keeps it stays`() throws {
    let a = try device(1, retention: .seconds(60))
    try fill(a)
    try a.store.trim(heldBy: a.store.versionVector(), at: "home")
    #expect(try a.store.counts().operations == 4)
  }

  @Test func `what waits for an upgrade stays, and is merged after it`() throws {
    let narrow = SyncSchema(version: 1, tables: [SyncTable("shelf")])
    let a = try Device(narrow, id: 1, logRetention: .seconds(-60)) {
      try $0.execute(sql: Shelf.creation)
    }
    let b = try device(2)
    try b.execute("INSERT INTO note VALUES ('a', 1, 'x')")
    try b.store.seal()
    try fill(b)
    try a.pull(from: b)
    try a.store.trim(heldBy: a.store.versionVector(), at: "peer")
    #expect(try a.store.counts().pending[.schema] == 1)
    #expect(try a.rows("SELECT 1 FROM grdb_tern_main_log").count == 2)
    let upgraded = try a.upgraded(Shelf.schema(.deleteWins))
    try expectEqual(upgraded, b, "note", "shelf")
  }

  @Test func `INV-11: times go on from what the log has no longer`() throws {
    let a = try device(1)
    try fill(a)
    let last = try a.store.operations(lackedBy: VersionVector(), maximumBytes: .max).last!
    try a.store.trim(heldBy: a.store.versionVector(), at: "home")
    try a.store.restamp(after: 4, at: "home", nowMilliseconds: 1)
    try a.execute("UPDATE shelf SET name = 'x'")
    try a.store.seal()
    let id = try a.store.replicaID()
    let next = try a.store.operations(
      lackedBy: VersionVector([id: 4]), maximumBytes: .max
    ).last!
    #expect(next.envelope.time > last.envelope.time)
    // And where the next has to be stamped again.
    try a.store.restamp(after: 4, at: "home", nowMilliseconds: 1)
    let again = try a.store.operations(
      lackedBy: VersionVector([id: 4]), maximumBytes: .max
    ).last!
    #expect(again.envelope.time > last.envelope.time)
  }

  @Test func `a row's history begins where the log does`() async throws {
    let a = try device(1)
    try fill(a)
    try a.execute("UPDATE shelf SET name = 'x' WHERE id = '0'")
    try a.store.seal()
    #expect(try await a.replica.history("shelf", key: [.string("0")]).changes.count == 2)
    try a.store.trim(heldBy: a.store.versionVector(), at: "home")
    #expect(try await a.replica.history("shelf", key: [.string("0")]).changes.count == 1)
    #expect("\(try await a.replica.explain("shelf", key: [.string("0")]))".contains("x"))
  }
}
