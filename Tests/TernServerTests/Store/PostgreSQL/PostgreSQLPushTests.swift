#if PostgreSQL
import Foundation
import TernCore
import Testing

@testable import TernServer

/// A push of one process, while something happens between two of its statements.
@Suite(
  "PostgreSQL: what happens around each statement of a push",
  .enabled(if: TestDatabase.address != nil, "script/test starts a database"))
struct PostgreSQLPushTests {
  private let database: TestDatabase
  private let probe = StatementProbe()
  private let service: SpaceService
  /// Another process.
  private let other: SpaceService
  private let clock = HandClock()

  init() throws {
    database = try TestDatabase()
    service = SpaceService(store: try database.open(probe: probe.probe), clock: clock.clock)
    other = SpaceService(
      store: try database.open { $0.lockTimeout = .milliseconds(30) }, clock: clock.clock)
  }

  enum Meanwhile: CaseIterable {
    case append, trim, removal
  }

  /// What another process does, if the space's lock lets it.
  private func run(_ meanwhile: Meanwhile, _ bob: Author) throws {
    var bob = bob
    switch meanwhile {
    case .append: _ = try other.push(bob.write(count: 2), to: .home)
    case .trim:
      try other.store.update(.home) {
        try $0.trim(through: 2)
        _ = try $0.releaseTrimmed(operations: 10)
        _ = try $0.removeTrimmed(through: 2, operations: 10, contentBytes: .max)
      }
    case .removal: _ = try other.store.removeSpace(.home)
    }
  }

  /// How many statements a push into a space that is there has.
  private func statementCount() throws -> Int {
    _ = try push(Author(8), to: .work)
    return try probe.count { _ = try push(Author(9), to: .work) }
  }

  @Test(arguments: Meanwhile.allCases)
  func `INV-03: positions have no hole and no second content`(_ meanwhile: Meanwhile) throws {
    let statements = try statementCount()
    #expect(statements > 8)
    var refused = 0
    for number in 0..<statements {
      let (ada, bob) = (Author(UInt64(number) + 10), Author(UInt64(number) + 100))
      _ = try other.push(operations(of: Author(UInt64(number) + 1000)), to: .home)
      let outcome = Outcome()
      let comesBetween: @Sendable (PostgreSQLConnection) -> Void = { _ in
        do { try run(meanwhile, bob) } catch { outcome.error = error }
      }
      _ = try probe.doing(comesBetween, at: number, .sending) { try push(ada, to: .home) }
      if let error = outcome.error {
        // The other process waited for the lock, and no longer than it may.
        #expect((error as? PostgreSQLError)?.state == "55P03")
        refused += 1
        try run(meanwhile, bob)
      }
      try expectWhole()
      _ = try other.store.removeSpace(.home)
    }
    // Before the lock the other process is first, behind it last.
    #expect(refused > 0 && refused < statements)
  }

  private final class Outcome: @unchecked Sendable {
    var error: (any Error)?
  }

  private func operations(of author: Author) -> [SyncOperation] {
    var author = author
    return author.write(count: 3, bytes: 40)
  }

  private func push(_ author: Author, to space: SpaceName) throws -> PushReceipt {
    try service.push(operations(of: author), to: space)
  }

  /// Positions follow each other, and the chain goes over all of them.
  private func expectWhole() throws {
    #expect(try database.brokenChains() == [])
    let rows = try database.run(
      """
      SELECT name, count(*), max(operation.position), min(space.position) FROM tern.space AS space
      JOIN tern.operation AS operation ON operation.space = space.id GROUP BY name
      """)
    for row in 0..<rows.count {
      #expect(rows[row].integer(1) == rows[row].integer(2))
      #expect(rows[row].integer(1) == rows[row].integer(3))
    }
  }

  // MARK: - Faults

  enum Fault: CaseIterable {
    case ended, lost, serialization, deadlock, diskFull, readOnly

    var error: PostgreSQLError? {
      switch self {
      case .ended: nil
      case .lost: .lost
      case .serialization: .serialization
      case .deadlock: .deadlock
      case .diskFull: .diskFull
      case .readOnly: .readOnly
      }
    }
  }

  /// Behind an answer the server fails no more, but the way to it does.
  private static let faults: [(Fault, PostgreSQLMoment)] =
    Fault.allCases.map { ($0, .sending) } + [(.ended, .answered), (.lost, .answered)]

  @Test(arguments: faults)
  func `INV-03: what is acknowledged is stored once, and what is not can be repeated`(
    _ fault: Fault, _ moment: PostgreSQLMoment
  ) throws {
    let statements = try statementCount()
    let database = database
    for number in 0..<statements {
      let ada = Author(UInt64(number) + 10)
      var failure: (any Error)?
      var receipt: PushReceipt?
      do {
        let fails: @Sendable (PostgreSQLConnection) throws -> Void = { connection in
          if let error = fault.error { throw error }
          try database.run("SELECT pg_terminate_backend(\(connection.processID), 1000)")
        }
        receipt = try probe.doing(fails, at: number, moment) { try push(ada, to: .home) }
      } catch {
        failure = error
      }
      let stored = try database.run(
        "SELECT 1 FROM tern.operation WHERE author = '\\x\(ada.replica.description)'"
      ).count
      #expect(stored == 0 || stored == 3)
      if let receipt {
        #expect(receipt.accepted == 3 && stored == 3)
      } else {
        let error = try #require(failure as? PostgreSQLError)
        // Only of a COMMIT whose answer is missing nobody knows.
        #expect(stored == 0 || error.isUnknown)
      }
      let again = try push(ada, to: .home)
      #expect(again.accepted == 3 - stored)
      try expectWhole()
    }
    #expect(try everything(service).count == 3 * statements)
  }
}
#endif
