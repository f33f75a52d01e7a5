#if Server
import Foundation
import GRDB
import Synchronization
import Tern
import TernServer
import TestDevice
import Testing

/// A server's clock that is ahead for a while, and is right again.
private final class WanderingClock: Sendable {
  private let offset = Mutex<TimeInterval>(0)

  var clock: ServerClock {
    ServerClock { ServerClock.system.now + self.offset.withLock { $0 } }
  }

  func set(daysAhead days: Int64) { offset.withLock { $0 = TimeInterval(days * 86_400) } }
}

@Suite("Engine: a server whose clock was ahead", .timeLimit(.minutes(2)))
struct ServerClockTests {
  private func requireEqual(_ phones: [Device], rows: Int) throws {
    let states = try phones.map { try $0.replica.store.canonicalState() }
    for state in states {
      #expect(state == states[0])
      #expect(state.count == rows)
    }
    for phone in phones {
      #expect(try phone.replica.store.counts().pending[.clock] == 0)
      #expect(phone.engine.status.current.unpushed == 0)
    }
  }

  private static let day: Int64 = 86_400_000

  /// How far the newest time in the space is ahead.
  private func newest(_ server: Server) throws -> Int64 {
    let newest = try server.service.greet(SpaceName(Server.space)).newest
    return try #require(newest).milliseconds - ServerClock.system.nowMilliseconds
  }

  @Test func `after a server's clock was ahead everything drains, and a new device joins`()
    async throws
  {
    let clock = WanderingClock()
    try await Server.run(Server.memoryStore(seed: 1), clock: clock.clock) { server in
      let (x, y) = (try await Device(server.port), try await Device(server.port))
      clock.set(daysAhead: 400)
      // It writes by the clock that it was told.
      try await x.syncOnce()
      try await x.execute("INSERT INTO item VALUES ('1', 'x', 1)")
      try await x.syncOnce()
      try await y.syncOnce()
      // So it does offline, and later than all that was taken.
      try await x.execute("INSERT INTO item VALUES ('2', 'x', 1)")
      try await x.execute("UPDATE item SET text = 'x later', count = count + 1 WHERE id = '1'")

      clock.set(daysAhead: 0)
      #expect(try newest(server) > 399 * Self.day)
      for number in 1...50 {
        try await y.execute("INSERT INTO item VALUES ('y\(number)', 'y', 1)")
        _ = try await y.replica.seal()
      }
      try await y.execute("UPDATE item SET count = count + 1 WHERE id = '1'")
      try await y.syncOnce()
      try await x.syncOnce()
      try await y.syncOnce()
      try requireEqual([x, y], rows: 52)

      let z = try await Device(server.port)
      try await z.syncOnce()
      try requireEqual([x, y, z], rows: 52)
      try await z.execute("UPDATE item SET text = 'z', count = count + 1 WHERE id = '1'")
      for phone in [z, x, y] { try await phone.syncOnce() }
      try requireEqual([x, y, z], rows: 52)
      let row = try await y.database.read {
        try String.fetchOne($0, sql: "SELECT text || ' ' || count FROM item WHERE id = '1'")
      }
      #expect(row == "z 4")
    }
  }

  @Test func `devices that are listening go on through a clock that is ahead for a while`()
    async throws
  {
    let clock = WanderingClock()
    try await Server.run(Server.memoryStore(seed: 1), clock: clock.clock) { server in
      // It greeted before, and does not greet again.
      let z = try await Device(server.port)
      try await Device.run([z]) {
        await z.waitForStatus { $0.phase == .upToDate }
        clock.set(daysAhead: 400)
        let x = try await Device(server.port)
        try await Device.run([x]) {
          await x.waitForStatus { $0.phase == .upToDate }
          try await x.execute("INSERT INTO item VALUES ('1', 'x', 1)")
          try await z.waitForRows(1)
          clock.set(daysAhead: 0)
          for number in 2...4 {
            try await x.execute("INSERT INTO item VALUES ('\(number)', 'x', 1)")
            try await z.waitForRows(2 * number - 2)
            try await z.execute("INSERT INTO item VALUES ('z\(number)', 'z', 1)")
            try await x.waitForRows(2 * number - 1)
          }
        }
        await z.waitForStatus { $0.phase == .upToDate && $0.unpushed == 0 }
        #expect(try z.replica.store.counts().pending[.clock] == 0)
        #expect(try x.replica.store.canonicalState() == z.replica.store.canonicalState())
      }
    }
  }

  @Test func `a device's own wrong clock gains nothing by it`() async throws {
    let clock = WanderingClock()
    try await Server.run(Server.memoryStore(seed: 1), clock: clock.clock) { server in
      let wrong = try await Device(server.port, clockOffset: 500 * Self.day)
      let right = try await Device(server.port)
      clock.set(daysAhead: 400)
      try await right.syncOnce()
      try await right.execute("INSERT INTO item VALUES ('1', 'right', 1)")
      try await right.syncOnce()
      clock.set(daysAhead: 0)
      try await wrong.execute("INSERT INTO item VALUES ('2', 'wrong', 1)")
      for phone in [wrong, right, wrong] { try await phone.syncOnce() }
      try requireEqual([right, wrong], rows: 2)
      #expect(try (399 * Self.day...400 * Self.day).contains(newest(server)))
    }
  }
}
#endif
