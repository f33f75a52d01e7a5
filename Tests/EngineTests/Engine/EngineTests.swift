#if Server
import Observation
import Synchronization
import GRDB
import Tern
import TernServer
import TestDevice
import Testing

@Suite("Engine: engines and their server", .timeLimit(.minutes(2)))
struct EngineTests {
  @Test
  func `a write on one device appears on the other by itself, and run returns when cancelled`()
    async throws
  {
    try await Server.run(Server.memoryStore(seed: 1)) { server in
      let (a, b) = (try await Device(server.port), try await Device(server.port))
      try await Device.run([a, b]) {
        try await a.execute("INSERT INTO item VALUES ('1', 'from a', 1)")
        try await b.waitForRows(1)
        try await b.execute("UPDATE item SET count = count + 1")
        try await a.waitForRows(1, where: "count = 2")
        await a.waitForStatus { $0.phase == .upToDate && $0.unpushed == 0 }
      }
      #expect(a.engine.status.current.phase == .stopped)
      #expect(try a.replica.store.canonicalState() == b.replica.store.canonicalState())
    }
  }

  @Test func `without a server an engine waits, and drains when there is one`() async throws {
    var port = 0
    try await Server.run(Server.memoryStore(seed: 1)) { port = $0.port }
    let (a, b) = (try await Device(port), try await Device(port))
    try await a.execute("INSERT INTO item VALUES ('1', 'offline', 1)")
    try await Device.run([a, b]) {
      await a.waitForStatus { $0.phase == .waiting && $0.lastError != nil && $0.unpushed == 1 }
      try await Server.run(Server.memoryStore(seed: 1), port: port) { _ in
        try await b.waitForRows(1)
        await a.waitForStatus { $0.lastError == nil && $0.unpushed == 0 && $0.pushed == 1 }
      }
    }
  }

  @Test func `a wiped server gets back what it lost`() async throws {
    var port = 0
    var a: Device!
    var b: Device!
    try await Server.run(Server.memoryStore(seed: 1)) { server in
      port = server.port
      (a, b) = (try await Device(port), try await Device(port))
      try await a.execute("INSERT INTO item VALUES ('1', 'a', 1)")
      try await a.engine.syncOnce()
      try await b.engine.syncOnce()
      try await b.execute("INSERT INTO item VALUES ('2', 'b', 1)")
      try await b.engine.syncOnce()
    }
    // Device a never saw row 2, and only b can bring it back.
    try await Server.run(Server.memoryStore(seed: 2), port: port) { server in
      try await b.engine.syncOnce()
      try await a.engine.syncOnce()
      #expect(try server.service.greet(SpaceName(Server.space)).position == 2)
    }
    #expect(try a.replica.store.canonicalState() == b.replica.store.canonicalState())
    #expect(try a.replica.store.canonicalState().count == 2)
  }

  @Test func `a server restored from an older copy is noticed and caught up`() async throws {
    let old = Server.memoryStore(seed: 1)
    var backup: MemorySpaceStore!
    var port = 0
    var (a, b): (Device?, Device?) = (nil, nil)
    try await Server.run(old) { server in
      port = server.port
      (a, b) = (try await Device(port), try await Device(port))
      try await a!.execute("INSERT INTO item VALUES ('1', 'a', 1)")
      try await a!.engine.syncOnce()
      backup = MemorySpaceStore(copying: old)
      try await a!.execute("INSERT INTO item VALUES ('2', 'a', 1)")
      try await a!.engine.syncOnce()
      try await b!.engine.syncOnce()
      try await b!.execute("INSERT INTO item VALUES ('3', 'b', 1)")
      try await b!.engine.syncOnce()
    }
    try await Server.run(backup, port: port) { server in
      try await a!.engine.syncOnce()
      try await b!.engine.syncOnce()
      try await a!.engine.syncOnce()
      #expect(try server.service.greet(SpaceName(Server.space)).position == 3)
    }
    #expect(try a!.replica.store.canonicalState() == b!.replica.store.canonicalState())
  }

  @Test func `a device whose clock is a day ahead is stamped again and loses nothing`() async throws
  {
    try await Server.run(Server.memoryStore(seed: 1)) { server in
      let a = try await Device(server.port, clockOffset: 86_400_000)
      let b = try await Device(server.port)
      try await a.execute("INSERT INTO item VALUES ('1', 'tomorrow', 1)")
      try await a.engine.syncOnce()
      try await b.engine.syncOnce()
      try await b.execute("UPDATE item SET text = 'today'")
      try await b.engine.syncOnce()
      try await a.engine.syncOnce()
      #expect(
        try await a.database.read { try String.fetchOne($0, sql: "SELECT text FROM item") }
          == "today")
      #expect(try a.replica.store.canonicalState() == b.replica.store.canonicalState())
      let offset = try #require(a.engine.status.current.clockOffset)
      #expect(offset < .seconds(-86_000))
    }
  }

  @Test func `a wrong token is an error with a way out, and nothing is lost`() async throws {
    try await Server.run(Server.memoryStore(seed: 1)) { server in
      let a = try await Device(server.port, token: "wrong")
      try await a.execute("INSERT INTO item VALUES ('1', 'a', 1)")
      let error = await #expect(throws: RemoteError.self) { try await a.engine.syncOnce() }
      #expect(error?.code == .unauthorized)
      #expect(error?.message.contains("tern token create") == true)
      #expect(error.map { "\($0)" }?.contains("wrong") == false)
      #expect(try a.replica.store.counts().operations == 1)
      #expect(a.engine.status.current.unpushed == 1)
    }
  }

  @Test func `the status can be observed`() async throws {
    try await Server.run(Server.memoryStore(seed: 1)) { server in
      let a = try await Device(server.port)
      let changes = Mutex(0)
      withObservationTracking {
        _ = a.engine.status.current
      } onChange: {
        changes.withLock { $0 += 1 }
      }
      try await a.execute("INSERT INTO item VALUES ('1', 'a', 1)")
      try await a.engine.syncOnce()
      #expect(changes.withLock { $0 } == 1)
      #expect(a.engine.status.current.pushed == 1)
    }
  }
}
#endif
