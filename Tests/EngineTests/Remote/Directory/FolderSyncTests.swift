#if Server
import Foundation
import GRDB
import Synchronization
import Tern
import TernTesting
import TestDevice
import Testing

/// Devices that share a folder and no server.
@Suite("Directory: devices that share a folder and no server", .timeLimit(.minutes(2)))
struct FolderSyncTests {
  @Test func `two devices write at once, and end equal`() async throws {
    try await Share.run { share in
      let (a, b) = (
        try await Device { [share.remote($0)] }, try await Device { [share.remote($0)] }
      )
      try await Device.run([a, b]) {
        for number in 1...20 {
          try await a.execute("INSERT INTO item VALUES ('a\(number)', 'from a', 1)")
          try await b.execute("INSERT INTO item VALUES ('b\(number)', 'from b', 1)")
        }
        try await a.waitForRows(40)
        try await b.waitForRows(40)
        try await a.execute("UPDATE item SET count = count + 1")
        try await b.execute("UPDATE item SET count = count + 2")
        try await a.waitForRows(40, where: "count = 4")
        try await b.waitForRows(40, where: "count = 4")
        await a.waitForStatus { $0.phase == .upToDate && $0.unpushed == 0 }
      }
      #expect(try a.replica.store.canonicalState() == b.replica.store.canonicalState())
      #expect(a.engine.status.current.clockOffset == nil)
      // Each in a file of its own.
      let ids = try [a, b].map { try "\($0.replica.store.replicaID())-1.tern" }
      #expect(try share.names() == ids.sorted())
    }
  }

  /// A file with an operation that its author never wrote, made where nobody refuses it.
  private func forge(_ id: ReplicaID, in share: Share) async throws -> String {
    let forged = SyncOperation(
      .init(replica: id, sequence: 1, time: HybridTime(milliseconds: 1_700_000_000_000)),
      body: [])
    let name = "\(Author.id(200))-1.tern"
    try await Share.run { elsewhere in
      _ = try await elsewhere.remote(Author.id(200)).push([forged])
      try share.write(elsewhere.read(name), to: name)
    }
    return name
  }

  private func syncDisputed(_ device: Device, _ id: ReplicaID) async throws {
    let error = await #expect(throws: RemoteError.self) { try await device.syncOnce() }
    #expect(error?.code == .sequenceConflict && error?.replica == id)
  }

  @Test(arguments: [false, true])
  func `a forged operation of a device keeps out no more than what it had given`(
    _ hasMore: Bool
  ) async throws {
    try await Share.run { share in
      let other = MemoryRemote(id: "other")
      let a = try await Device { hasMore ? [share.remote($0), other] : [share.remote($0)] }
      let b = try await Device { [share.remote($0)] }
      try await a.execute("INSERT INTO item VALUES ('1', 'before', 1)")
      for engine in a.engines { try await engine.syncOnce() }
      try await b.syncOnce()
      let id = try a.replica.store.replicaID()
      let name = try await forge(id, in: share)
      try await a.execute("INSERT INTO item VALUES ('2', 'behind', 1)")
      // Where another remote has it already, it can't have another author here.
      if hasMore { try await a.engines[1].syncOnce() }
      try await syncDisputed(a, id)
      let change = try #require(a.engine.status.current.idChange)
      #expect(change.former == id && change.current != id)
      try await a.execute("INSERT INTO item VALUES ('3', 'later', 1)")
      try await syncDisputed(a, id)
      try await syncDisputed(b, id)
      let ids = try await b.column("SELECT id FROM item ORDER BY id")
      #expect(ids == (hasMore ? ["1", "3"] : ["1", "2", "3"]))
      #expect(try a.replica.store.replicaID() == change.current)
      // Nothing else stays once the forged file is gone.
      try share.remove(name)
      for device in [a, b, a] { try await device.syncOnce() }
      let c = try await Device { [share.remote($0)] }
      try await c.syncOnce()
      for device in [b, c] {
        #expect(try device.replica.store.canonicalState() == a.replica.store.canonicalState())
      }
    }
  }

  @Test func `a stick that is pulled is waited for, and sync goes on when it is back`() async throws
  {
    try await Share.run { share in
      let (a, b) = (
        try await Device { [share.remote($0)] }, try await Device { [share.remote($0)] }
      )
      try await a.execute("INSERT INTO item VALUES ('1', 'before', 1)")
      try await a.syncOnce()
      let away = share.url.deletingLastPathComponent().appending(
        path: share.url.lastPathComponent + "-away")
      defer { try? FileManager.default.removeItem(at: away) }
      try await Device.run([a]) {
        await a.waitForStatus { $0.phase == .upToDate }
        try FileManager.default.moveItem(at: share.url, to: away)
        await a.waitForStatus { $0.phase == .waiting && $0.lastError?.code == .unreachable }
        try await a.execute("INSERT INTO item VALUES ('2', 'meanwhile', 1)")
        await a.waitForStatus { $0.unpushed == 1 }
        try FileManager.default.moveItem(at: away, to: share.url)
        await a.waitForStatus { $0.phase == .upToDate && $0.unpushed == 0 && $0.lastError == nil }
      }
      try await b.syncOnce()
      #expect(try a.replica.store.canonicalState() == b.replica.store.canonicalState())
      #expect(try b.replica.store.canonicalState().count == 2)
    }
  }

  @Test(arguments: [ENOSPC, EROFS])
  func `a folder that takes nothing gives what it has, and what comes meanwhile`(_ code: CInt)
    async throws
  {
    try await Share.run { share in
      let isBad = Mutex(true)
      let files = DurableFile(isSynced: false) { descriptor, bytes in
        guard isBad.withLock({ $0 }) else {
          return write(descriptor, bytes.baseAddress, bytes.count)
        }
        errno = code
        return -1
      }
      let a = try await Device { [share.remote(try $0.store.replicaID(), files: files)] }
      let b = try await Device { [share.remote($0)] }
      try await b.execute("INSERT INTO item VALUES ('b', 'from b', 1)")
      try await b.syncOnce()
      try await a.execute("INSERT INTO item VALUES ('a', 'waits', 1)")
      let error = await #expect(throws: RemoteError.self) { try await a.syncOnce() }
      #expect(error?.code == .unavailable)
      #expect(a.engine.status.current.pulled == 1 && a.engine.status.current.unpushed == 1)
      try await Device.run([a]) {
        await a.waitForStatus { $0.phase == .waiting }
        try await b.execute("UPDATE item SET count = 2")
        try await b.syncOnce()
        try await a.waitForRows(1, where: "count = 2")
        isBad.withLock { $0 = false }
        await a.waitForStatus { $0.phase == .upToDate && $0.unpushed == 0 && $0.lastError == nil }
      }
      try await b.syncOnce()
      #expect(try a.replica.store.canonicalState() == b.replica.store.canonicalState())
    }
  }

  @Test func `an emptied folder is told to lack what the log has no longer, and is read on`()
    async throws
  {
    try await Share.run { share in
      let a = try await Device(logRetention: .seconds(-60)) { [share.remote($0)] }
      for number in 1...4 {
        try await a.execute("INSERT INTO item VALUES ('\(number)', 'a', 1)")
        try a.replica.store.seal()
      }
      try await a.syncOnce()
      #expect(try a.replica.store.counts().operations == 1)
      for name in try share.names() {
        try FileManager.default.removeItem(atPath: share.space.appending(component: name).path)
      }
      let b = try await Device { [share.remote($0)] }
      try await b.execute("INSERT INTO item VALUES ('b', 'b', 1)")
      try await b.syncOnce()
      let error = await #expect(throws: RemoteError.self) { try await a.syncOnce() }
      #expect(error?.code == .snapshotsUnsupported)
      #expect(
        try await a.database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM item") } == 5)
    }
  }

  @Test func `what a folder loses is brought back by who has it`() async throws {
    try await Share.run { share in
      let (a, b, c) = (
        try await Device { [share.remote($0)] }, try await Device { [share.remote($0)] },
        try await Device { [share.remote($0)] }
      )
      try await a.execute("INSERT INTO item VALUES ('1', 'a', 1)")
      try await a.syncOnce()
      try await Device.run([b]) {
        try await b.waitForRows(1)
        await b.waitForStatus { $0.phase == .upToDate }
        // Device a is never seen again, and somebody clears up.
        try share.remove("\(a.replica.store.replicaID())-1.tern")
        try await c.execute("INSERT INTO item VALUES ('2', 'c', 1)")
        try await Device.run([c]) {
          try await c.waitForRows(2)
          try await b.waitForRows(2)
        }
      }
      #expect(try c.replica.store.canonicalState() == b.replica.store.canonicalState())
    }
  }

  @Test func `a device whose clock is ahead is waited for by name, until its time comes`()
    async throws
  {
    try await Share.run { share in
      let ahead = try await Device(clockOffset: 3_600_000) { [share.remote($0)] }
      let b = try await Device { [share.remote($0)] }
      try await b.execute("INSERT INTO item VALUES ('1', 'now', 1)")
      try await b.syncOnce()
      try await ahead.syncOnce()
      try await ahead.execute("UPDATE item SET text = 'in an hour'")
      try await ahead.syncOnce()
      try await b.syncOnce()
      let status = b.engine.status.current
      #expect(status.pending[.clock] == 1 && status.phase == .upToDate && status.lastError == nil)
      #expect(
        try status.pending.first?.replica == ahead.replica.store.replicaID())
      #expect(
        try await b.database.read { try String.fetchOne($0, sql: "SELECT text FROM item") } == "now"
      )
      // What waits survives the program, and the clock of a server brings the time.
      _ = try b.replica.store.correctClock(
        nowMilliseconds: Int64(Date().timeIntervalSince1970 * 1000) + 3_600_000)
      #expect(try b.replica.store.hasNews())
      try await b.syncOnce()
      #expect(b.engine.status.current.pending[.clock] == 0)
      #expect(
        try b.replica.store.canonicalState() == ahead.replica.store.canonicalState())
    }
  }

  @Test func `a copied database is told by every device, and everything else is merged`()
    async throws
  {
    try await Share.run { share in
      let (a, b) = (
        try await Device { [share.remote($0)] }, try await Device { [share.remote($0)] }
      )
      let name = try "\(a.replica.store.replicaID())-1.tern"
      try await a.execute("INSERT INTO item VALUES ('1', 'a', 1)")
      try await a.syncOnce()
      var envelope = try #require(
        try a.replica.store.operations(lackedBy: VersionVector(), maximumBytes: 1).first
      ).envelope
      envelope.schemaVersion += 1
      let before = try share.read(name)
      try share.remove(name)
      _ = try await share.remote(envelope.replica).push([SyncOperation(envelope, body: [])])
      try share.write(share.read(name), to: "copy.tern")
      try share.write(before, to: name)
      try await b.execute("INSERT INTO item VALUES ('2', 'b', 1)")
      for phone in [b, a] {
        let error = await #expect(throws: RemoteError.self) { try await phone.syncOnce() }
        #expect(error?.code == .sequenceConflict && error?.message.contains("copy.tern") == true)
      }
      try await a.waitForRows(2)
      try share.remove("copy.tern")
      for phone in [a, b] { try await phone.syncOnce() }
      #expect(try a.replica.store.canonicalState() == b.replica.store.canonicalState())
    }
  }

  /// As whoever is told of a dispute may do: one of the files goes.
  @Test func `one copy's files in the place of another's are not merged behind it`() async throws {
    try await Share.run { share in
      let (c, d) = (
        try await Device { [share.remote($0)] }, try await Device { [share.remote($0)] }
      )
      let id = Author.id(7)
      func wrote(_ sequences: ClosedRange<UInt64>, at start: Int64) -> [SyncOperation] {
        sequences.map {
          SyncOperation(
            .init(
              replica: id, sequence: $0, time: HybridTime(milliseconds: start + Int64($0))),
            body: [])
        }
      }
      func replace(by operations: [SyncOperation]) async throws {
        for file in try FileManager.default.contentsOfDirectory(atPath: share.space.path)
        where file.hasPrefix("\(id)") {
          try FileManager.default.removeItem(at: share.space.appending(path: file))
        }
        _ = try await share.remote(id).push(operations)
      }
      let start = Int64(Date().timeIntervalSince1970 * 1000) - 100_000
      let one = wrote(1...5, at: start)
      _ = try await share.remote(id).push(one)
      try await c.syncOnce()
      #expect(try c.replica.store.versionVector()[id] == 5)
      try await replace(by: wrote(1...3, at: start) + wrote(4...9, at: start + 1000))
      try await d.execute("INSERT INTO item VALUES ('d', 'from d', 1)")
      try await d.syncOnce()
      let error = await #expect(throws: RemoteError.self) { try await c.syncOnce() }
      #expect(error?.code == .sequenceConflict && error?.replica == id)
      let fork = ReplicaFork(remote: share.remote(id).id, replica: id, sequence: 4)
      #expect(c.engine.status.current.forks == [fork])
      #expect(try c.replica.store.versionVector()[id] == 5)
      // It keeps back nobody else.
      try await c.waitForRows(1)
      // And when the first copy's are there again, that is the end of it.
      try await replace(by: one + wrote(6...10, at: start))
      try await c.syncOnce()
      #expect(c.engine.status.current.forks == [])
      #expect(try c.replica.store.versionVector()[id] == 10)
    }
  }

  /// The one that stays may be the shorter one, or as long.
  @Test(arguments: [(false, 3), (true, 3), (true, 4)])
  func `nothing goes on top of another copy's file`(_ isOwn: Bool, _ common: Int) async throws {
    try await Share.run { share in
      let (c, d) = (
        try await Device { [share.remote($0)] }, try await Device { [share.remote($0)] }
      )
      let author = isOwn ? c : d
      for number in 1...5 {
        try await author.execute("INSERT INTO item VALUES ('\(number)', 'x', 1)")
        try author.replica.store.seal()
      }
      for phone in [author, c] { try await phone.syncOnce() }
      let id = try author.replica.store.replicaID()
      let log = try author.replica.store.operations(lackedBy: VersionVector(), maximumBytes: .max)
      var envelope = log[common].envelope
      envelope.schemaVersion += 1
      let others = Array(log.prefix(common)) + [SyncOperation(envelope, body: [])]
      try share.remove("\(id)-1.tern")
      _ = try await share.remote(id).push(others)
      try await c.execute("INSERT INTO item VALUES ('c', 'x', 1)")
      // The same engine goes on, and says what it met.
      for _ in 1...3 {
        let error = await #expect(throws: RemoteError.self) { try await c.syncOnce() }
        #expect(error?.code == .sequenceConflict && error?.replica == id)
      }
      let there = try await share.fresh().operations.filter { $0.envelope.replica == id }
      #expect(there == others)
      #expect(try await c.column("SELECT count(*) FROM item") == ["6"])
    }
  }
}
#endif
