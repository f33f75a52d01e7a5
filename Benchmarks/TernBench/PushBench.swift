#if PostgreSQL
import Foundation
import GRDB
import SeededRandom
import Synchronization
import TernCore
import TernServer

/// How many operations a server's store takes in a second, and what its database takes by itself.
struct PushBench {
  /// A data file, or a database's address.
  let data: String
  /// Each has one writer, as in a server.
  let spaces: Int
  let operationsPerPush: Int
  let seconds: Double
  /// For a database: whether it keeps statements.
  let preparesStatements: Bool

  /// What an operation of ten rows takes, as the facts of other engines' rates have it.
  static let bodyBytes = 560

  private static let schema = "bench"

  func run() throws {
    var generator = SystemRandomNumberGenerator()
    let store: any SpaceStore =
      data.hasPrefix("postgresql:")
      ? try PostgreSQLSpaceStore(data, schema: Self.schema, limits: limits, using: &generator)
      : try SQLiteSpaceStore(path: data, using: &generator)
    let service = SpaceService(store: store, clock: .system)
    let end = Date(timeIntervalSinceNow: seconds)
    let start = Date()
    let counted = Mutex(0)
    DispatchQueue.concurrentPerform(iterations: spaces) { number in
      let count = push(to: service, number: number, until: end)
      counted.withLock { $0 += count }
    }
    let elapsed = -start.timeIntervalSinceNow
    let count = counted.withLock { $0 }
    print(String(format: "%.0f\t%.0f", Double(count) / elapsed, Double(count)))
  }

  private var limits: PostgreSQLLimits {
    var limits = PostgreSQLLimits()
    limits.connections = 16
    limits.preparesStatements = preparesStatements
    return limits
  }

  /// One author's pushes; returns how many operations were accepted.
  private func push(to service: SpaceService, number: Int, until end: Date) -> Int {
    let space = SpaceName(stored: "bench-\(number)")
    var system = SystemRandomNumberGenerator()
    // Another one in each run, as a store keeps what the run before wrote.
    let replica = ReplicaID(high: system.next() | 1, low: UInt64(number + 1))
    // Bodies are made here; the system's numbers would take longer than the push.
    var generator = SeededGenerator(seed: system.next())
    var sequence: UInt64 = 0
    var time = HybridTime.zero
    var count = 0
    while Date() < end {
      let operations = (0..<operationsPerPush).map { _ in
        sequence += 1
        time = time.next(atMilliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        let body = (0..<Self.bodyBytes / 8).flatMap { _ in
          withUnsafeBytes(of: generator.next()) { Array($0) }
        }
        return SyncOperation(
          SyncOperation.Envelope(replica: replica, sequence: sequence, time: time), body: body)
      }
      do {
        count += try service.push(operations, to: space).accepted
      } catch {
        fatalError("a push failed: \(error)")
      }
    }
    return count
  }
}

/// Plain inserts into a table of a server's file, with its indexes and nothing else: the floor.
struct InsertFloor {
  let path: String
  let operationsPerTransaction: Int
  let seconds: Double

  func run() throws {
    var generator = SystemRandomNumberGenerator()
    // For its tables alone.
    let store = try SQLiteSpaceStore(path: path, using: &generator)
    try store.update(SpaceName(stored: "bench")) { _ in }
    var configuration = Configuration()
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = FULL") }
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    let end = Date(timeIntervalSinceNow: seconds)
    let start = Date()
    var position = 0
    while Date() < end {
      try queue.write { db in
        let insert = try db.cachedStatement(
          sql: """
            INSERT INTO operation (space, position, author, sequence, digest, chain, bytes)
            VALUES (1, ?, x'01', ?, ?, ?, ?)
            """)
        for _ in 0..<operationsPerTransaction {
          position += 1
          try insert.execute(arguments: [
            position, position, Data(repeating: 1, count: 32), Data(repeating: 2, count: 32),
            Data(repeating: 3, count: PushBench.bodyBytes + 30),
          ])
        }
      }
    }
    print(String(format: "%.0f\t%d", Double(position) / -start.timeIntervalSinceNow, position))
  }
}

/// What `tern-bench push` and `tern-bench insert` run.
enum StoreRate {
  static func run(_ arguments: [String]) throws {
    let preparesStatements = arguments.last == "prepared"
    let numbers = arguments.dropFirst(2).compactMap { Double($0) }
    switch (arguments[0], numbers.count) {
    case ("push", 3):
      try PushBench(
        data: arguments[1], spaces: Int(numbers[0]), operationsPerPush: Int(numbers[1]),
        seconds: numbers[2], preparesStatements: preparesStatements
      ).run()
    case ("insert", 2):
      try InsertFloor(
        path: arguments[1], operationsPerTransaction: Int(numbers[0]), seconds: numbers[1]
      ).run()
    default: fatalError("see tern-bench without arguments")
    }
  }
}
#endif
