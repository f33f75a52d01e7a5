#if PostgreSQL && Rehearsal
@_spi(Rehearsal) import TernCore
import Testing

@testable import TernServer

@Suite(
  "PostgreSQL: planted bugs",
  .enabled(if: TestDatabase.address != nil, "script/test starts a database"))
struct PostgreSQLPlantedTests {
  private let database: TestDatabase

  init() throws { database = try TestDatabase() }

  /// Whether a push goes through in the middle of another one.
  private func goesThrough(_ bug: Planted?) throws -> Bool {
    let (one, two) = (
      try database.open(), try database.open { $0.lockTimeout = .milliseconds(30) }
    )
    let clock = HandClock()
    var (ada, bob) = (Author(1), Author(2))
    let service = SpaceService(store: two, clock: clock.clock)
    _ = try service.push(ada.write(count: 1), to: .home)
    var isThrough = false
    let run = {
      try one.update(.home) { _ in
        isThrough = (try? service.push(bob.write(count: 1), to: .home)) != nil
      }
    }
    if let bug { try Planted.with(bug) { try run() } } else { try run() }
    _ = try one.removeSpace(.home)
    return isThrough
  }

  @Test func `INV-03: a head that is not locked is caught`() throws {
    #expect(try goesThrough(.headUnlocked))
    #expect(try !goesThrough(nil))
  }

  /// Of what one push reads, another one changes meanwhile.
  @Test func `INV-03: what is read before the lock is caught`() throws {
    let probe = StatementProbe()
    let (one, two) = (try database.open(probe: probe.probe), try database.open())
    let clock = HandClock()
    let services = [one, two].map { SpaceService(store: $0, clock: clock.clock) }
    var (ada, bob) = (Author(1), Author(2))
    _ = try services[0].push(ada.write(count: 1), to: .home)
    func pushBeside(_ bug: Planted?) throws -> [UInt64] {
      // The lock is the third, behind BEGIN and its limits; with the bug that is the reading.
      let operations = (ada.write(count: 1), bob.write(count: 1))
      let meanwhile: @Sendable (PostgreSQLConnection) throws -> Void = { _ in
        _ = try services[1].push(operations.1, to: .home)
      }
      let push = {
        try probe.doing(meanwhile, at: bug == nil ? 2 : 3, .sending) {
          try services[0].push(operations.0, to: .home)
        }
      }
      if let bug { _ = try Planted.with(bug) { try push() } } else { _ = try push() }
      return try database.brokenChains()
    }
    #expect(try pushBeside(nil) == [])
    // It goes on from the chain of a position that another push has taken.
    #expect(try pushBeside(.readBeforeLock) == [5])
    _ = try one.removeSpace(.home)
  }

  /// So answers a COMMIT whose wait for a standby was cancelled.
  @Test func `INV-03: a COMMIT with a warning is not acknowledged`() throws {
    let store = try database.open()
    let clock = HandClock()
    let service = SpaceService(store: store, clock: clock.clock)
    try database.warnAtCommit(of: "operation")
    var ada = Author(1)
    let operations = ada.write(count: 1)
    let error = #expect(throws: PostgreSQLError.self) {
      try service.push(operations, to: .home)
    }
    #expect(error?.isUnknown ?? false)
    // It was stored all the same, and the repeat says so.
    #expect(try service.push(operations, to: .home).accepted == 0)
    let more = ada.write(count: 1)
    #expect(try Planted.with(.commitUnclear) { try service.push(more, to: .home) }.accepted == 1)
  }

  @Test func `each of them is looked for here`() {
    #expect(
      Planted.ofStores == [
        .headUnlocked, .readBeforeLock, .commitUnclear, .positionEarly, .headsUnread, .greatestHead,
      ])
  }
}
#endif
