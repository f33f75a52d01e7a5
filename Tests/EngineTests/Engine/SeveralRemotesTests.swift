#if Server
import Foundation
import GRDB
import Tern
import TernServer
import TernTesting
import TestDevice
import Testing

/// One replica with several remotes at once.
@Suite("Engine: one replica with several remotes", .timeLimit(.minutes(2)))
struct SeveralRemotesTests {
  @Test func `a device between a server and a folder carries both ways, byte for byte`()
    async throws
  {
    try await Share.run { share in
      try await Server.run(Server.memoryStore(seed: 1)) { server in
        let a = try await Device(server.port)
        let b = try await Device { [try Server.remote(port: server.port), share.remote($0)] }
        let c = try await Device { [share.remote($0)] }
        try await Device.run([a, b, c]) {
          try await a.execute("INSERT INTO item VALUES ('1', 'from a', 1)")
          try await c.waitForRows(1)
          try await c.execute("UPDATE item SET count = count + 1")
          try await c.execute("INSERT INTO item VALUES ('2', 'from c', 1)")
          try await a.waitForRows(1, where: "count = 2")
          try await a.waitForRows(2)
          for engine in b.engines {
            await engine.waitForStatus { $0.phase == .upToDate && $0.unpushed == 0 }
          }
        }
        let logs = try [a, b, c].map { phone in
          try Set(phone.replica.store.operations(lackedBy: VersionVector(), maximumBytes: .max))
        }
        #expect(logs[0] == logs[1] && logs[1] == logs[2] && logs[0].count >= 2)
        #expect(try a.replica.store.canonicalState() == c.replica.store.canonicalState())
        // The server and the folder were pushed to by their own engine each.
        #expect(b.engines.allSatisfy { $0.status.current.pulled > 0 })
        #expect(b.engines.allSatisfy { $0.status.current.pushed > 0 })
      }
    }
  }

  @Test func `a device between two folders keeps a place in each`() async throws {
    try await Share.run { first in
      try await Share.run { second in
        let a = try await Device { [first.remote($0)] }
        let b = try await Device { [first.remote($0), second.remote($0)] }
        let c = try await Device { [second.remote($0)] }
        for number in 1...5 {
          try await a.execute("INSERT INTO item VALUES ('a\(number)', 'a', 1)")
          try await c.execute("INSERT INTO item VALUES ('c\(number)', 'c', 1)")
          for phone in [a, c, b, b, a, c] { try await phone.syncOnce() }
        }
        #expect(try a.replica.store.canonicalState() == c.replica.store.canonicalState())
        #expect(try a.replica.store.canonicalState().count == 10)
        for share in [first, second] {
          let remote = share.remote(b.replica)
          let place = try #require(try b.replica.store.place(at: remote.id))
          let (rest, _) = try await remote.everything(
            after: place.cursor, reader: b.replica.store.replicaID())
          #expect(rest == [])
        }
      }
    }
  }

  @Test func `what a folder was offered keeps its time when a server refuses it`() async throws {
    try await Share.run { share in
      try await Server.run(Server.memoryStore(seed: 1)) { server in
        let a = try await Device(clockOffset: 86_400_000) {
          [share.remote($0), try Server.remote(port: server.port)]
        }
        try await a.execute("INSERT INTO item VALUES ('1', 'tomorrow', 1)")
        try await a.engines[0].syncOnce()
        let inFolder = try await share.fresh().operations
        let error = await #expect(throws: RemoteError.self) { try await a.engines[1].syncOnce() }
        #expect(error?.code == .timeAhead)
        #expect(a.engines[1].status.current.unpushed == 1)
        #expect(
          try a.replica.store.operations(lackedBy: VersionVector(), maximumBytes: .max) == inFolder)
        // In the folder nothing changed, and nothing has to.
        try await a.engines[0].syncOnce()
        #expect(try await share.fresh().operations == inFolder)
      }
    }
  }

  @Test func `what only one remote refused is stamped again`() async throws {
    try await Share.run { share in
      try await Server.run(Server.memoryStore(seed: 1)) { server in
        let a = try await Device(clockOffset: 86_400_000) {
          [try Server.remote(port: server.port), share.remote($0)]
        }
        let b = try await Device { [share.remote($0)] }
        try await a.execute("INSERT INTO item VALUES ('1', 'tomorrow', 1)")
        try await a.syncOnce()
        try await b.syncOnce()
        #expect(b.engine.status.current.pending[.clock] == 0)
        #expect(try a.replica.store.canonicalState() == b.replica.store.canonicalState())
        // The folder has no clock, and leaves the server's correction as it is.
        try await a.execute("INSERT INTO item VALUES ('2', 'now', 1)")
        for _ in 0..<2 { try await a.syncOnce() }
        try await b.syncOnce()
        #expect(b.engine.status.current.pending[.clock] == 0)
        #expect(try b.replica.store.canonicalState().count == 2)
      }
    }
  }

  @Test func `copies of a database that meet a device by two remotes are told, and stop nobody`()
    async throws
  {
    let (first, second) = (MemoryRemote(id: "1"), MemoryRemote(id: "2"))
    let c = try await Device { _ in [first] }
    let b = try await Device { _ in [first, second] }
    let d = try await Device { _ in [second] }
    for number in 1...3 {
      try await c.execute("INSERT INTO item VALUES ('\(number)', 'one copy', 1)")
      try await c.syncOnce()
    }
    try await b.engines[0].syncOnce()
    // The other copy stopped early, with a clock that is behind, and wrote on.
    let author = try c.replica.store.replicaID()
    let times = first.operations.map(\.envelope.time)
    let copies = (1...4).map { number in
      SyncOperation(
        .init(
          replica: author, sequence: UInt64(number),
          time: HybridTime(milliseconds: times[0].milliseconds - 60_000 + Int64(number))), body: [])
    }
    _ = try await second.push(copies)
    try await d.execute("INSERT INTO item VALUES ('d', 'from d', 1)")
    try await d.syncOnce()
    // Again and again, and each page is taken.
    for number in 1...2 {
      let error = await #expect(throws: RemoteError.self) { try await b.engines[1].syncOnce() }
      #expect(error?.code == .sequenceConflict && error?.replica == author)
      try await b.waitForRows(3 + number)
      try await d.execute("INSERT INTO item VALUES ('d\(number)', 'from d', 1)")
      try await d.syncOnce()
    }
    let fork = ReplicaFork(remote: "2", replica: author, sequence: 1)
    #expect(b.engines[1].status.current.forks == [fork])
    #expect(b.engines[1].status.current.phase == .waiting)
    // The copy that came first is synced by its own remote, and never mixed with the other.
    try await c.execute("INSERT INTO item VALUES ('4', 'one copy', 1)")
    try await c.syncOnce()
    try await b.engines[0].syncOnce()
    await #expect(throws: RemoteError.self) { try await b.engines[1].syncOnce() }
    try await b.waitForRows(7)
    #expect(second.operations.filter { $0.envelope.replica == author } == copies)
    // What the other remote's devices wrote reaches the first one's.
    try await b.engines[0].syncOnce()
    try await c.syncOnce()
    #expect(try c.replica.store.canonicalState() == b.replica.store.canonicalState())
  }

  @Test func `what one copy wrote last is not pushed on top of another copy's`() async throws {
    let (first, second) = (MemoryRemote(id: "1"), MemoryRemote(id: "2"))
    let c = try await Device { _ in [first] }
    let b = try await Device { _ in [first, second] }
    for number in 1...4 {
      try await c.execute("INSERT INTO item VALUES ('\(number)', 'one copy', 1)")
      try await c.syncOnce()
    }
    try await b.engines[0].syncOnce()
    // The other copy wrote less, and earlier.
    let author = try c.replica.store.replicaID()
    let start = first.operations[0].envelope.time.milliseconds - 60_000
    let copies = (1...2).map { number in
      SyncOperation(
        .init(
          replica: author, sequence: UInt64(number),
          time: HybridTime(milliseconds: start + Int64(number))), body: [])
    }
    _ = try await second.push(copies)
    try await b.execute("INSERT INTO item VALUES ('b', 'from b', 1)")
    // The remote says so first, and from then on it is known here.
    for _ in 1...2 {
      let error = await #expect(throws: RemoteError.self) { try await b.engines[1].syncOnce() }
      #expect(error?.code == .sequenceConflict && error?.replica == author)
      #expect(b.engines[1].status.current.phase == .waiting)
    }
    let fork = ReplicaFork(remote: "2", replica: author, sequence: 1)
    #expect(b.engines[1].status.current.forks == [fork])
    #expect(second.operations.filter { $0.envelope.replica == author } == copies)
    // It keeps back nothing else.
    #expect(second.operations.contains { $0.envelope.replica != author })
  }

  @Test func `a remote that is forgotten and used all the same loses and doubles nothing`()
    async throws
  {
    let (first, second) = (MemoryRemote(id: "1"), MemoryRemote(id: "2"))
    let a = try await Device { _ in [first, second] }
    let b = try await Device { _ in [first] }
    for number in 1...3 {
      try await a.execute("INSERT INTO item VALUES ('a\(number)', 'a', 1)")
      try await b.execute("INSERT INTO item VALUES ('b\(number)', 'b', 1)")
      for phone in [a, b, a] { try await phone.syncOnce() }
    }
    let pushed = first.operations
    #expect(try await a.replica.forget(remoteID: "1"))
    #expect(try a.replica.store.place(at: "1") == nil)
    try await b.execute("UPDATE item SET count = count + 1")
    try await a.execute("UPDATE item SET count = count + 10")
    // An engine that goes on, and one that begins.
    try await a.syncOnce()
    let again = SyncEngine(a.replica, remote: first)
    for _ in 0..<2 {
      try await again.syncOnce()
      try await b.syncOnce()
    }
    try await again.syncOnce()
    #expect(Array(first.operations.prefix(pushed.count)) == pushed)
    #expect(Set(first.operations).count == first.operations.count)
    #expect(try a.replica.store.canonicalState() == b.replica.store.canonicalState())
    try await a.waitForRows(6, where: "count = 12")
    try await b.waitForRows(6, where: "count = 12")
  }

  @Test func `a server that was wiped, with a clock that is behind, changes no times`() async throws
  {
    let now = Date()
    let server = MemoryRemote(id: "server", epoch: "1", now: { now })
    let (a, b) = (try await Device { _ in [server] }, try await Device { _ in [server] })
    try await a.execute("INSERT INTO item VALUES ('1', 'a', 1)")
    try await a.syncOnce()
    try await b.syncOnce()
    let wiped = MemoryRemote(id: "server", epoch: "2", now: { now - 86_400 })
    let engine = SyncEngine(a.replica, remote: wiped)
    let error = await #expect(throws: RemoteError.self) { try await engine.syncOnce() }
    #expect(error?.code == .timeAhead)
    let logs = try [a, b].map {
      try $0.replica.store.operations(lackedBy: VersionVector(), maximumBytes: .max)
    }
    #expect(logs[0] == logs[1] && logs[0] == server.operations)
  }

  @Test func `what a remote refuses of another author keeps back nothing else`() async throws {
    let (first, second) = (MemoryRemote(id: "1"), MemoryRemote(id: "2"))
    let c = try await Device { _ in [first] }
    let b = try await Device { _ in [first, second] }
    // The second remote knows a copy of device c.
    try await c.execute("INSERT INTO item VALUES ('c', 'one copy', 1)")
    try await c.syncOnce()
    let envelope = first.operations[0].envelope
    var earlier = envelope
    earlier.time = HybridTime(milliseconds: envelope.time.milliseconds + 60_000)
    _ = try await second.push([SyncOperation(earlier, body: [])])
    try await c.execute("INSERT INTO item VALUES ('c2', 'one copy', 1)")
    try await c.syncOnce()
    try await b.engines[0].syncOnce()
    try await b.execute("INSERT INTO item VALUES ('b', 'own', 1)")
    let error = await #expect(throws: RemoteError.self) { try await b.engines[1].syncOnce() }
    #expect(error?.code == .sequenceConflict && error?.replica == envelope.replica)
    let id = try b.replica.store.replicaID()
    #expect(second.operations.contains { $0.envelope.replica == id })
    #expect(b.engines[1].status.current.lastError?.code == .sequenceConflict)
    #expect(b.engines[0].status.current.lastError == nil)
  }
}
#endif
