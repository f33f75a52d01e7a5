#if PostgreSQL
import Foundation
import Synchronization
import TernCore
import Testing

@testable import TernServer

@Suite(
  "PostgreSQL: connections that nobody is to have any more",
  .enabled(if: TestDatabase.address != nil, "script/test starts a database"))
struct PostgreSQLPoolTests {
  @Test func `INV-03: one that was in use while a later timeline was found is closed`() throws {
    let timeline = Counter()
    let pool = PostgreSQLPool(
      try #require(TestDatabase.address), connections: 2, patience: .seconds(10)
    ) { $0.timeline = timeline.next() }
    defer { pool.close() }
    let (old, new) = try pool.withConnection { old in
      (old.processID, try pool.withConnection { $0.processID })
    }
    // Both came back, and the newer one first.
    let kept = try pool.withConnection { one in
      [one.processID, try pool.withConnection { $0.processID }]
    }
    #expect(kept.contains(new) && !kept.contains(old))
  }

  private final class Counter: Sendable {
    private let value = Mutex<UInt64>(0)

    func next() -> UInt64 {
      value.withLock { value in
        value += 1
        return value
      }
    }
  }

  /// A standby that is away leaves COMMITs without an answer. Stopped servers do so too.
  @Test func `INV-10: commits without an answer leave connections for reading`() throws {
    let database = try TestDatabase()
    let probe = StatementProbe()
    // Six of them are for reading.
    let store = try database.open(
      {
        $0.connections = 7
        // Less than a transaction may stand idle: the stopped one has to go on.
        $0.patience = .seconds(2)
      }, probe: probe.probe)
    let service = SpaceService(store: store, clock: store.clock)
    var ada = Author(1, milliseconds: store.clock.nowMilliseconds)
    _ = try service.push(ada.write(count: 1), to: .home)
    let more = ada.write(count: 1)
    let commit = try probe.count { _ = try service.push(more, to: .home) } - 1
    let stopped = StoppedServer()
    defer { stopped.goOn() }
    let late = ada.write(count: 1)
    let error = #expect(throws: PostgreSQLError.self) {
      try probe.doing(stopped.stop, at: commit, .sending) {
        try service.push(late, to: .home)
      }
    }
    #expect(error?.isUnknown ?? false)
    // Nothing is waited for behind it.
    #expect(probe.statements.last == "COMMIT")
    #expect(throws: PostgreSQLError.self) { try service.push(ada.write(count: 1), to: .work) }
    for _ in 0..<6 { #expect(try store.position(of: .work) == 0) }
    stopped.goOn()
    while try store.position(of: .home) < 3 {}
    #expect(try service.push(late, to: .home).accepted == 0)
  }

  private final class StoppedServer: Sendable {
    private let processID = Mutex<pid_t?>(nil)

    func stop(_ connection: PostgreSQLConnection) {
      processID.withLock { $0 = connection.processID }
      kill(connection.processID, SIGSTOP)
    }

    func goOn() {
      if let stopped = processID.withLock({ $0.take() }) { kill(stopped, SIGCONT) }
    }
  }
}
#endif
