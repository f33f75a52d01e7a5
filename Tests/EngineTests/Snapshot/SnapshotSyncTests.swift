#if Server
import Foundation
import GRDB
@_spi(Rehearsal) import Tern
import TernServer
import TernTesting
import TestDevice
import Testing

/// A server that asks for a snapshot soon and keeps nothing for its age.
private var limits: ServerLimits {
  var limits = ServerLimits()
  limits.operationsPerSnapshot = 3
  limits.retention = .zero
  return limits
}

@Suite("Snapshot: snapshots between devices and a server", .timeLimit(.minutes(2)))
struct SnapshotSyncTests {
  private func phone(
    _ server: Server, path: String? = nil, wrap: (any Remote) -> any Remote = { $0 }
  ) async throws -> Device {
    try await Device(path: path, logRetention: .seconds(-60)) { _ in
      [wrap(try Server.remote(port: server.port))]
    }
  }

  private func write(_ phone: Device, _ ids: [String]) async throws {
    for id in ids {
      try await phone.execute("INSERT INTO item VALUES ('\(id)', 'text \(id)', 1)")
      try phone.replica.store.seal()
    }
  }

  private func names(in folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder)
  }

  private func expectEqual(_ phones: Device...) throws {
    let states = try phones.map { try $0.replica.store.canonicalState() }
    for state in states { #expect(state == states[0]) }
  }

  private func greeting(_ server: Server) throws -> RemoteGreeting {
    try server.service.greet(SpaceName(Server.space))
  }

  @Test func `INV-12: a server is given a snapshot and trims, and a new device starts from it`()
    async throws
  {
    try await Server.run(Server.memoryStore(seed: 1), limits: limits) { server in
      let a = try await phone(server)
      try await write(a, ["1", "2", "3", "4", "5"])
      try await a.syncOnce()
      try await a.execute("DELETE FROM item WHERE id = '5'")
      // The first greeting came before the operations; this one asks for a snapshot.
      try await a.syncOnce()
      try await a.syncOnce()
      let greeting = try greeting(server)
      #expect(greeting.snapshot != nil && greeting.trimmed > 0 && !greeting.wantsSnapshot)
      #expect(try a.replica.store.counts().operations < 6)
      let b = try await phone(server)
      try await b.syncOnce()
      try expectEqual(a, b)
      #expect(try b.replica.store.hasTrimmed(lackedBy: VersionVector()))
      try await write(b, ["6"])
      try await b.execute("UPDATE item SET count = count + 1")
      try await b.syncOnce()
      try await a.syncOnce()
      try expectEqual(a, b)
      #expect(try await a.column("SELECT DISTINCT count FROM item") == ["2"])
    }
  }

  @Test func `INV-02: a device that was away for too long keeps what it wrote meanwhile`()
    async throws
  {
    var limits = limits
    // Run out, the day longer included that a server waits.
    limits.lease = .seconds(-2 * 24 * 60 * 60)
    try await Server.run(Server.memoryStore(seed: 2), limits: limits) { server in
      let (a, b) = (try await phone(server), try await phone(server))
      try await write(a, ["1"])
      try await a.syncOnce()
      try await b.syncOnce()
      try await b.execute(
        "UPDATE item SET count = count + 10; INSERT INTO item VALUES ('b', 'b', 1)")
      try await write(a, ["2", "3", "4", "5"])
      try await a.execute("UPDATE item SET count = count + 1, text = 'a' WHERE id = '1'")
      try await a.syncOnce()
      try await a.syncOnce()
      #expect(try greeting(server).trimmed > 1)
      try await b.syncOnce()
      try await a.syncOnce()
      try expectEqual(a, b)
      let sums = try await a.column("SELECT id || count || text FROM item ORDER BY id")
      #expect(sums.first == "112a" && sums.last == "b1b" && sums.count == 6)
    }
  }

  @Test func `INV-12: a group whose rest does not come keeps nobody from snapshots`() async throws {
    var limits = limits
    limits.lease = .seconds(-2 * 24 * 60 * 60)
    try await Server.run(Server.memoryStore(seed: 7), limits: limits) { server in
      let space = try SpaceName(Server.space)
      let a = try await phone(server)
      try await write(a, ["1", "2"])
      try await a.syncOnce()
      _ = try server.service.push([part(1, isLast: false), part(2, isLast: false)], to: space)
      for ids in [["3", "4", "5"], ["6", "7", "8"]] {
        try await write(a, ids)
        for _ in 1...3 { try await a.syncOnce() }
      }
      let greeting = try greeting(server)
      #expect(greeting.snapshot?.heads[Self.gone] == 2)
      #expect(greeting.trimmed >= 4)

      // Those who load it have the part, and merge the group once there is more of it.
      let phones = [a, try await phone(server), try await phone(server)]
      for phone in phones { try await phone.syncOnce() }
      #expect(try await phones[1].column("SELECT count(*) FROM item") == ["8"])
      #expect(try phones[1].replica.store.versionVector()[Self.gone] == 0)
      let diagnosis = try await phones[1].database.read { try DatabaseDiagnosis($0) }
      #expect(diagnosis.findings.isEmpty, "\(diagnosis.findings)")
      _ = try server.service.push([part(3, isLast: true)], to: space)
      for phone in phones { try await phone.syncOnce() }
      for phone in phones {
        #expect(
          try await phone.column("SELECT id FROM item WHERE id > 'p' ORDER BY id")
            == ["part 1", "part 2", "part 3"])
      }
      try expectEqual(phones[0], phones[1], phones[2])
    }
  }

  private static let gone = ReplicaID(high: 7, low: 7)

  /// Of a group of a device that is none of the phones.
  private func part(_ sequence: UInt64, isLast: Bool) -> SyncOperation {
    var body = ByteWriter()
    body.append(
      block: BodyBlock(
        table: "item", keyColumns: ["id"],
        columns: [.init(name: "text", rule: 0), .init(name: "count", rule: 1)]))
    body.append(row: .insert, life: 1)
    for value: SQLiteValue in [.string("part \(sequence)"), "text", 1] { body.append(value) }
    body.appendEndOfBlock()
    return SyncOperation(
      .init(
        replica: Self.gone, sequence: sequence, time: HybridTime(milliseconds: 1_700_000_000_000),
        continues: !isLast), body: body.bytes)
  }

  @Test func `INV-06: a group of which a part was accepted goes on behind a loaded snapshot`()
    async throws
  {
    var limits = limits
    limits.lease = .seconds(-2 * 24 * 60 * 60)
    try await Server.run(Server.memoryStore(seed: 6), limits: limits) { server in
      let (parts, pushes) = (Counter(), Counter())
      let a = try await phone(server)
      let b = try await phone(server) { remote in
        CountingRemote(remote, parts) {
          $0
        } willPush: {
          // The first of the group's pushes was taken.
          guard pushes.next() == 2 else { return }
          throw RemoteError(.unavailable, "the disk is full")
        }
      }
      try await b.syncOnce()
      try await write(a, ["1", "2", "3", "4", "5"])
      for _ in 1...2 { try await a.syncOnce() }
      #expect(try greeting(server).trimmed > 1)
      try await b.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
        INSERT INTO item SELECT i, hex(randomblob(40000)), 1 FROM n
        """)
      let id = try b.replica.store.replicaID()
      await #expect(throws: RemoteError.self) { try await b.syncOnce() }
      let made = try b.replica.store.versionVector()[id]
      let accepted = try greeting(server).heads[id]
      #expect(accepted > 0 && accepted < made && parts.value > 0)
      #expect(try await b.column("SELECT count(*) FROM item") == ["36"])
      try await a.syncOnce()
      #expect(try await a.column("SELECT count(*) FROM item") == ["5"])
      try await b.syncOnce()
      try await a.syncOnce()
      try expectEqual(a, b)
      #expect(try await a.column("SELECT count(*) FROM item") == ["36"])
      #expect(try greeting(server).heads[id] == made)
    }
  }

  @Test func `a wiped server gets what no log has any more`() async throws {
    var port = 0
    var phone: Device!
    try await Server.run(Server.memoryStore(seed: 3), limits: limits) { server in
      port = server.port
      phone = try await self.phone(server)
      try await write(phone, ["1", "2", "3", "4"])
      try await phone.syncOnce()
      try await phone.syncOnce()
      #expect(try phone.replica.store.counts().operations == 1)
    }
    try await Server.run(Server.memoryStore(seed: 4), port: port, limits: limits) { server in
      try await write(phone, ["5"])
      try await phone.syncOnce()
      let b = try await self.phone(server)
      try await b.syncOnce()
      try expectEqual(phone, b)
      #expect(try await b.column("SELECT count(*) FROM item") == ["5"])
      try await write(b, ["6"])
      try await b.syncOnce()
      try await phone.syncOnce()
      try expectEqual(phone, b)
    }
  }

  @Test func `a base that an operator drops is given again by a device that has it`() async throws {
    var port = 0
    var phone: Device!
    try await Server.run(Server.memoryStore(seed: 3), limits: limits) { server in
      port = server.port
      phone = try await self.phone(server)
      try await write(phone, ["1", "2", "3", "4"])
      try await phone.syncOnce()
      try await phone.syncOnce()
    }
    var limits = limits
    limits.retention = .seconds(86_400)
    try await Server.run(Server.memoryStore(seed: 4), port: port, limits: limits) { server in
      try await write(phone, ["5"])
      try await phone.syncOnce()
      let b = try await self.phone(server)
      try await b.syncOnce()
      try await write(b, ["6"])
      try await b.syncOnce()
      for snapshot in try server.service.snapshots(of: SpaceName(Server.space)) {
        try server.service.dropSnapshot(snapshot.id, in: SpaceName(Server.space))
      }
      #expect(try greeting(server).snapshot == nil && greeting(server).heads.sequences.count == 2)
      // Who is new meanwhile begins with what the log has.
      let early = try await self.phone(server)
      try await early.syncOnce()
      #expect(try await early.column("SELECT count(*) FROM item") == ["2"])
      for _ in 0..<2 { for device in [phone!, b, early] { try await device.syncOnce() } }
      let late = try await self.phone(server)
      try await late.syncOnce()
      try expectEqual(phone, b, early, late)
      #expect(try await late.column("SELECT count(*) FROM item") == ["6"])
    }
  }

  /// It would stand for the operations of the other copy, which who loads it would lose.
  @Test func `INV-03: a base is not given to a server that has another copy's operations`()
    async throws
  {
    let copied = ReplicaID(high: 7, low: 7)
    let start = Int64(Date().timeIntervalSince1970 * 1000) - 100_000
    func wrote(_ count: Int, schema: UInt32) -> [SyncOperation] {
      (1...count).map { number in
        let time = HybridTime(milliseconds: start + Int64(number))
        return SyncOperation(
          .init(
            replica: copied, sequence: UInt64(number), time: time, schemaVersion: schema), body: [])
      }
    }
    var port = 0
    var phone: Device!
    try await Server.run(Server.memoryStore(seed: 3), limits: limits) { server in
      port = server.port
      phone = try await Device(logRetention: .seconds(-60)) { _ in
        [MemoryRemote(id: "other"), try Server.remote(port: port)]
      }
      try await write(phone, ["1", "2", "3", "4"])
      for _ in 1...2 { try await phone.syncOnce() }
      #expect(try phone.replica.store.counts().operations == 1)
      // The other remote lacks these, so that the log keeps them.
      _ = try await Server.remote(port: port).push(wrote(5, schema: 1))
      try await phone.engines[1].syncOnce()
      #expect(try phone.replica.store.counts().operations == 6)
    }
    try await Server.run(Server.memoryStore(seed: 4), port: port, limits: limits) { server in
      let others = wrote(2, schema: 2)
      _ = try await Server.remote(port: port).push(others)
      try await write(phone, ["5"])
      for _ in 1...3 {
        let error = await #expect(throws: RemoteError.self) {
          try await phone.engines[1].syncOnce()
        }
        #expect(error?.code == .sequenceConflict && error?.replica == copied)
        let greeting = try greeting(server)
        #expect(greeting.heads[copied] == 2 && greeting.snapshot == nil)
      }
      let remote = try Server.remote(port: port)
      let page = try await remote.pull(after: nil, excluding: ReplicaID(high: 0, low: 1))
      #expect(page.operations.filter { $0.envelope.replica == copied } == others)
    }
    // One that has nothing is forked from nobody.
    try await Server.run(Server.memoryStore(seed: 5), port: port, limits: limits) { server in
      for _ in 1...2 { try await phone.engines[1].syncOnce() }
      #expect(phone.engines[1].status.current.forks == [])
      #expect(try greeting(server).snapshot != nil && greeting(server).heads[copied] == 5)
    }
  }

  @Test(arguments: [CrashPoint.snapshotPartStored, .snapshotBeforeCommit])
  func `a fetch that was cut short goes on with the part behind the last`(_ point: CrashPoint)
    async throws
  {
    let folder = NSTemporaryDirectory() + "/tern-snapshot-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await Server.run(Server.memoryStore(seed: 5), limits: limits) { server in
      let a = try await phone(server)
      try await write(a, ["1", "2", "3", "4"])
      try await a.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        INSERT INTO item SELECT i, hex(randomblob(30)), 1 FROM n
        """)
      try await a.syncOnce()
      try await a.syncOnce()
      let parts = try #require(try greeting(server).snapshot?.parts)
      #expect(parts > 5)
      let counter = Counter()
      let b = try await phone(server, path: folder + "/app.sqlite") { CountingRemote($0, counter) }
      let stored = Counter()
      await #expect(throws: Killed.self) {
        try await CrashPoint.with({ reached in
          guard reached == point else { return }
          if point == .snapshotBeforeCommit || stored.next() == 3 { throw Killed() }
        }) { try await b.syncOnce() }
      }
      #expect(try await b.column("SELECT count(*) FROM item") == ["0"])
      #expect(try names(in: folder).contains { $0.hasSuffix(".parts") })
      // As the next process finds it.
      let again = try await phone(server, path: folder + "/app.sqlite") {
        CountingRemote($0, counter)
      }
      try await again.syncOnce()
      try expectEqual(a, again)
      #expect(counter.value == parts)
      #expect(try !names(in: folder).contains { $0.hasSuffix(".parts") })
    }
  }

  @Test func `a snapshot of which parts were sent goes on with those that the server lacks`()
    async throws
  {
    let folder = NSTemporaryDirectory() + "/tern-cut-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await Server.run(Server.memoryStore(seed: 8), limits: limits) { server in
      let (taken, tried) = (Counter(), Counter())
      let a = try await phone(server, path: folder + "/app.sqlite") {
        CountingRemote($0, taken, willPut: { if tried.next() == 3 { throw Killed() } })
      }
      try await write(a, ["1", "2", "3", "4"])
      try await a.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        INSERT INTO item SELECT i, hex(randomblob(30)), 1 FROM n
        """)
      try await a.syncOnce()
      await #expect(throws: Killed.self) { try await a.syncOnce() }
      #expect(try taken.value == 2 && greeting(server).snapshot == nil)
      // As the next process finds it.
      let again = try await phone(server, path: folder + "/app.sqlite") {
        CountingRemote($0, taken)
      }
      try await again.syncOnce()
      let parts = try #require(try greeting(server).snapshot?.parts)
      #expect(parts > 5 && taken.value == parts)
      let b = try await phone(server)
      try await b.syncOnce()
      try expectEqual(again, b)
    }
  }
}

private struct Killed: Error {}
#endif
