import Foundation
import GRDB

/// Commits rows numbered from 1 in transactions of a varied size, with checkpoints and reads in
/// between, as a seed has it.
struct Workload {
  /// So that a writer whom nobody kills ends.
  static let commitCountMax = 2_000
  static let rowsPerCommitMax = 12
  static let bodyBytesMax = 3_000

  private var generator: SeededGenerator

  init(seed: UInt64) {
    generator = SeededGenerator(seed: seed)
  }

  /// What the row holds, so that a reader can tell it from any other.
  static func body(of number: Int) -> Data {
    var generator = SeededGenerator(seed: UInt64(number))
    let count = Int.random(in: 0...bodyBytesMax, using: &generator)
    return Data(repeating: UInt8(truncatingIfNeeded: number), count: count)
  }

  /// Acknowledges 0 for the table, then the last number of each transaction, once it is committed.
  func run(on pool: DatabasePool, acknowledge: (Int) -> Void) throws {
    var generator = generator
    let pages = Int.random(in: 4...60, using: &generator)
    try pool.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA wal_autocheckpoint = \(pages)")
      // `last` is the last number of the row's transaction.
      try db.execute(
        sql: """
          CREATE TABLE entry (number INTEGER PRIMARY KEY, last INTEGER NOT NULL, body BLOB NOT NULL)
          """)
    }
    acknowledge(0)

    var last = 0
    for _ in 0..<Self.commitCountMax {
      let first = last + 1
      last += Int.random(in: 1...Self.rowsPerCommitMax, using: &generator)
      try insert(first...last, into: pool)
      acknowledge(last)
      if Int.random(in: 0..<25, using: &generator) == 0 {
        let modes: [Database.CheckpointMode] = [.passive, .full, .restart, .truncate]
        let mode = modes.randomElement(using: &generator)!
        _ = try pool.writeWithoutTransaction { db in try db.checkpoint(mode) }
      }
      if Int.random(in: 0..<10, using: &generator) == 0 {
        // Another connection sees what no file has yet.
        let count = try pool.read { db in try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM entry") }
        precondition(count == last, "a reader sees \(count ?? 0) of \(last) committed rows")
      }
    }
  }

  private func insert(_ numbers: ClosedRange<Int>, into pool: DatabasePool) throws {
    try pool.write { db in
      let statement = try db.cachedStatement(sql: "INSERT INTO entry VALUES (?, ?, ?)")
      for number in numbers {
        try statement.execute(arguments: [number, numbers.upperBound, Self.body(of: number)])
      }
    }
  }
}
