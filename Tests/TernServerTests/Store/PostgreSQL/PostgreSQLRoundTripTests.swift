#if PostgreSQL
import Foundation
import TernCore
import Testing

@testable import TernServer

/// Statements of a transaction leave together: what a push costs while it holds its space's lock.
@Suite(
  "PostgreSQL: round trips of a push",
  .enabled(if: TestDatabase.address != nil, "script/test starts a database"))
struct PostgreSQLRoundTripTests {
  private let database: TestDatabase
  private let store: PostgreSQLSpaceStore
  private let service: SpaceService
  private let clock = HandClock()

  init() throws {
    database = try TestDatabase()
    store = try database.open { $0.connections = 1 }
    service = SpaceService(store: store, clock: clock.clock)
  }

  /// Those of `body`, which uses the only connection.
  private func trips(_ body: () throws -> Void) throws -> Int {
    func count() throws -> Int {
      try store.update(.home) { try #require($0 as? PostgreSQLSpaceTransaction).db.roundTrips }
    }
    let before = try count()
    try body()
    // Between them were the commit of the first count and the lock of the second.
    return try count() - before - 2
  }

  @Test func `the lock and what decides are read in one, and writes leave with the commit`() throws
  {
    let (ann, ben) = (MemberName(stored: "ann"), MemberName(stored: "ben"))
    var (ada, bob) = (Author(1), Author(2))
    _ = try service.push(ada.write(count: 1), to: .home, by: ann)
    let first = bob.write(count: 1)
    #expect(try trips { _ = try service.push(first, to: .home, by: ben) } == 2)
    let next = bob.write(count: 100)
    #expect(try trips { _ = try service.push(next, to: .home, by: ben) } == 2)
    // A repeat, and one with something new behind it.
    var accepted: [Int] = []
    let more = next + bob.write(count: 1)
    for operations in [next, more] {
      let count = try trips {
        accepted.append(try service.push(operations, to: .home, by: ben).accepted)
      }
      #expect(count == 2)
    }
    #expect(accepted == [0, 1])
    // What is refused is rolled back.
    _ = bob.write(count: 1)
    let gap = bob.write(count: 1)
    var refusal: (any Error)?
    let count = try trips {
      do { _ = try service.push(gap, to: .home, by: ben) } catch { refusal = error }
    }
    #expect(count == 2 && (refusal as? RemoteError)?.code == .sequenceGap)
  }

  @Test func `a space that is full for the most part takes one more`() throws {
    let (ann, ben) = (MemberName(stored: "ann"), MemberName(stored: "ben"))
    try store.update(.home) {
      for (token, member) in [("one", ann), ("two", ben)] {
        try $0.add(
          TokenRecord(
            digest: TokenDigest(token: token), space: .home, member: member,
            created: clock.date))
      }
    }
    try service.setQuota(SpaceQuota(operations: 20), of: .home)
    var (ada, bob) = (Author(1), Author(2))
    _ = try service.push(ada.write(count: 9), to: .home, by: ann)
    let more = bob.write(count: 3)
    #expect(try trips { _ = try service.push(more, to: .home, by: ben) } == 3)
  }

  @Test func `a space that lives in the future takes one more`() throws {
    var ada = Author(1)
    _ = try service.push(ada.write(count: 1), to: .home)
    clock.now -= 900_000
    let more = ada.write(count: 1)
    #expect(try trips { _ = try service.push(more, to: .home) } == 3)
  }

  // MARK: - Faults of what leaves together

  /// Runs SQL before an operation is inserted, or at the commit of that.
  private func run(_ sql: String, isAtCommit: Bool) throws {
    try database.run(
      """
      CREATE FUNCTION tern.fail() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN \(sql); RETURN NULL; END $$
      """)
    try database.run(
      """
      CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON tern.operation
      \(isAtCommit ? "DEFERRABLE INITIALLY DEFERRED" : "")
      FOR EACH ROW EXECUTE FUNCTION tern.fail()
      """)
  }

  @Test(arguments: [false, true])
  func `INV-03: an error among them is known to have stored nothing`(_ isAtCommit: Bool) throws {
    var ada = Author(1)
    _ = try service.push(ada.write(count: 1), to: .home)
    try run("RAISE EXCEPTION 'no' USING ERRCODE = '53100'", isAtCommit: isAtCommit)
    let more = ada.write(count: 2)
    let error = #expect(throws: PostgreSQLError.self) { try service.push(more, to: .home) }
    #expect(error?.state == "53100" && error?.isUnknown == false)
    try database.run("DROP TRIGGER fail ON tern.operation")
    #expect(try service.push(more, to: .home).accepted == 2)
  }

  /// The COMMIT has left in either case, and of both the client hears no more than that it ended.
  @Test(arguments: [false, true])
  func `INV-03: where the connection ends among them, the push can be repeated`(
    _ isAtCommit: Bool
  ) throws {
    var ada = Author(1)
    _ = try service.push(ada.write(count: 1), to: .home)
    try run("PERFORM pg_terminate_backend(pg_backend_pid())", isAtCommit: isAtCommit)
    let more = ada.write(count: 2)
    let error = #expect(throws: PostgreSQLError.self) { try service.push(more, to: .home) }
    #expect(error?.isOfConnection ?? false)
    try database.run("DROP TRIGGER fail ON tern.operation")
    #expect(try service.push(more, to: .home).accepted == 2)
  }
}
#endif
