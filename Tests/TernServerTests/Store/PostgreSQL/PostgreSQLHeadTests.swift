#if PostgreSQL && Rehearsal
import Logging
@_spi(Rehearsal) import TernCore
import Testing

@testable import TernServer

@Suite(
  "PostgreSQL: heads that other processes move, and a failover takes back",
  .enabled(if: TestDatabase.address != nil, "script/test starts a database"))
struct PostgreSQLHeadTests {
  private let database: TestDatabase
  private let service: SpaceService
  private let other: SpaceService
  private let reader: HeadReader

  init() throws {
    database = try TestDatabase()
    let clock = HandClock()
    service = SpaceService(store: try database.open(), clock: clock.clock)
    other = SpaceService(store: try database.open(), clock: clock.clock)
    reader = HeadReader(
      service: service, queue: StoreQueue(waitingPerSpace: 10), times: .init(),
      metrics: ServerMetrics(), logger: Logger(label: "test"))
  }

  /// The database goes on from what it had at a position, as where a standby was behind.
  private func lose(after position: Int) throws {
    for table in ["operation_bytes", "operation"] {
      try database.run("DELETE FROM tern.\(table) WHERE position > \(position)")
    }
    try database.run("DELETE FROM tern.head")
    try database.run("UPDATE tern.space SET position = \(position)")
  }

  /// Of a space that lost something the sums are wrong.
  private func remove() throws {
    _ = try service.store.removeSpace(.home)
    while try service.store.removeRemains(rows: 100, contentBytes: .max) {}
  }

  /// What a listener was told last once the database has lost the last two of three, and how many
  /// listeners are left.
  private func afterLoss(_ follow: (inout Author) throws -> Void = { _ in }) async throws -> (
    told: UInt64, left: Int
  ) {
    defer { #expect(throws: Never.self) { try remove() } }
    var (ada, bob) = (Author(1), Author(2))
    let (listener, heads) = try service.listen(to: .home)
    _ = try service.push(ada.write(count: 3), to: .home)
    #expect(listener.told.position == 3)
    try lose(after: 1)
    try follow(&bob)
    try await reader.read()
    // Whoever lets go of a stream leaves.
    defer { withExtendedLifetime(heads) {} }
    return (listener.told.position, service.board.count(of: .home))
  }

  @Test func `INV-03: a head that went back is told as it is, and the stream ends`() async throws {
    #expect(try await afterLoss() == (1, 0))
    #expect(try await Planted.throughout(.greatestHead) { try await afterLoss() } == (3, 1))
  }

  @Test func `INV-03: so is another history at the same position`() async throws {
    let outcome = try await afterLoss { _ = try other.push($0.write(count: 2), to: .home) }
    #expect(outcome == (3, 0))
  }

  @Test func `INV-09: what another process pushed is found without a notification`() async throws {
    var bob = Author(2)
    let (listener, heads) = try service.listen(to: .home)
    _ = try other.push(bob.write(count: 2), to: .home)
    try await Planted.throughout(.headsUnread) { try await reader.read() }
    #expect(listener.told.position == 0)
    try await reader.read()
    #expect(listener.told.position == 2)
    withExtendedLifetime(heads) {}
  }

  @Test func `INV-03: nobody is told of a position whose commit is not known`() throws {
    var ada = Author(1)
    let (listener, heads) = try service.listen(to: .home)
    _ = try service.push(ada.write(count: 1), to: .home)
    try database.warnAtCommit(of: "operation")
    #expect(throws: PostgreSQLError.self) { try service.push(ada.write(count: 1), to: .home) }
    #expect(listener.told.position == 1)
    #expect(throws: PostgreSQLError.self) {
      try Planted.with(.positionEarly) { try service.push(ada.write(count: 1), to: .home) }
    }
    #expect(listener.told.position > 1)
    withExtendedLifetime(heads) {}
  }
}
#endif
