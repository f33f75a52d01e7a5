#if PostgreSQL
import TernCore
import Testing

@testable import TernServer

/// A process that is stopped, as by SIGSTOP or a machine that sleeps, in the middle of a push.
@Suite(
  "PostgreSQL: a process that stops at a statement of a push",
  .enabled(if: TestDatabase.address != nil, "script/test starts a database"))
struct PostgreSQLStoppedTests {
  private let database: TestDatabase
  private let probe = StatementProbe()
  /// A process that the database ends after so short a stop that a busy machine's may be one too.
  private let stopped: SpaceService
  /// The same process, when it doesn't stop.
  private let service: SpaceService
  /// Another process, which waits longer for the lock than the first may have it.
  private let other: SpaceService
  private let clock = HandClock()

  init() throws {
    database = try TestDatabase()
    let hasty = try database.open({ $0.idleTimeout = .milliseconds(100) }, probe: probe.probe)
    stopped = SpaceService(store: hasty, clock: clock.clock)
    service = SpaceService(store: try database.open(probe: probe.probe), clock: clock.clock)
    other = SpaceService(store: try database.open(), clock: clock.clock)
  }

  @Test(arguments: [PostgreSQLMoment.sending, .answered])
  func `INV-09: another process pushes before it goes on, wherever it stopped`(
    _ moment: PostgreSQLMoment
  ) throws {
    var (ada, bob) = (Author(1), Author(2))
    _ = try service.push(ada.write(count: 1), to: .home)
    let next = ada.write(count: 1)
    let statements = try probe.count { _ = try service.push(next, to: .home) }
    #expect(statements > 5)
    var accepted = 2
    for number in 0..<statements {
      let (mine, others) = (ada.write(count: 2), bob.write(count: 1))
      let meanwhile: @Sendable (PostgreSQLConnection) throws -> Void = { _ in
        let accepted = try other.push(others, to: .home).accepted
        #expect(accepted == 1)
      }
      var receipt: PushReceipt?
      do {
        receipt = try probe.doing(meanwhile, at: number, moment) {
          try stopped.push(mine, to: .home)
        }
      } catch let error as PostgreSQLError {
        // The database has ended its transaction.
        #expect(error.isOfConnection)
      }
      let again = try service.push(mine, to: .home).accepted
      #expect((receipt?.accepted ?? 0) + again == 2)
      accepted += 3
    }
    #expect(try service.store.position(of: .home) == UInt64(accepted))
    #expect(try database.brokenChains() == [])
  }
}
#endif
