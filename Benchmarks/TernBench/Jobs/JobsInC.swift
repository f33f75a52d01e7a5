import Foundation
import GRDB
import GRDBSQLite
import Tern

/// The same jobs over the same tables, driven through SQLite's C interface alone: the same rows and
/// transactions, with nothing around them that could fail, wait, or be told of it.
struct JobsInC {
  let folder: String
  let durability: Durability
  /// How many jobs are claimed, and completed, in one transaction.
  let concurrency: Int

  func run(count: Int, together size: Int) throws -> (enqueueing: Double, working: Double) {
    let path = "\(folder)/app.sqlite"
    do {
      let pool = try DatabasePool(path: path)
      _ = try JobQueue.openBlocking(pool, durability: durability)
      try pool.close()
    }
    let connection = try Connection(path, durability)
    let clock = ContinuousClock()
    let enqueueing = clock.measure {
      for first in stride(from: 0, to: count, by: size) {
        connection.run("BEGIN IMMEDIATE")
        for number in first..<min(first + size, count) { connection.enqueue(number) }
        connection.run("COMMIT")
      }
    }
    var done = 0
    let working = clock.measure {
      var running: [Int64] = []
      repeat {
        connection.run("BEGIN IMMEDIATE")
        for job in running { connection.complete(job) }
        done += running.count
        if !running.isEmpty {
          connection.run(Connection.trim)
          connection.run("UPDATE grdb_tern_jobqueue SET ended = min(ended, 100)")
        }
        running = []
        while running.count < concurrency, let job = connection.claim() { running.append(job) }
        connection.run("COMMIT")
      } while !running.isEmpty
    }
    precondition(done == count, "not all jobs were done")
    return (enqueueing / .seconds(1), working / .seconds(1))
  }

  private final class Connection {
    private var database: OpaquePointer?
    private var statements: [String: OpaquePointer] = [:]
    private var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    init(_ path: String, _ durability: Durability) throws {
      guard sqlite3_open(path, &database) == SQLITE_OK else { throw CocoaError(.fileReadUnknown) }
      run("PRAGMA synchronous = \(durability == .powerLoss ? "FULL" : "NORMAL")")
    }

    deinit {
      for statement in statements.values { sqlite3_finalize(statement) }
      sqlite3_close(database)
    }

    /// - Returns: the first column of the first row.
    @discardableResult
    func run(_ sql: String, _ numbers: Int64..., payload: String? = nil) -> Int64? {
      if statements[sql] == nil {
        var statement: OpaquePointer?
        precondition(sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK, sql)
        statements[sql] = statement
      }
      let statement = statements[sql]!
      for (index, number) in numbers.enumerated() {
        sqlite3_bind_int64(statement, Int32(index + 1), number)
      }
      if var payload {
        payload.withUTF8 {
          // Copied: SQLITE_TRANSIENT.
          _ = sqlite3_bind_blob(
            statement, Int32(numbers.count + 1), $0.baseAddress, Int32($0.count),
            unsafeBitCast(-1, to: sqlite3_destructor_type.self))
        }
      }
      let code = sqlite3_step(statement)
      precondition(code == SQLITE_ROW || code == SQLITE_DONE, sql)
      let value = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : nil
      sqlite3_reset(statement)
      return value
    }

    func enqueue(_ number: Int) {
      run("UPDATE grdb_tern_jobqueue SET unfinished = unfinished + 1")
      run(
        """
        INSERT INTO grdb_tern_job (since_ms, ready_ms, enqueued_ms, payload, kind, service, lane,
          version, state, due, priority, starts, failures, unreached, deaths)
        VALUES (?1, ?1, ?1, ?2, 'nothing', '', '', 1, 0, 1, 0, 0, 0, 0, 0)
        """, now, payload: "{\"number\":\(number)}")
    }

    func claim() -> Int64? {
      let job = run(
        """
        SELECT id FROM grdb_tern_job
        WHERE state = 0 AND due = 1 AND service = '' AND kind = 'nothing' AND lane = ''
        ORDER BY priority DESC, ready_ms, id LIMIT 1
        """)
      guard let job else { return nil }
      run(
        "UPDATE grdb_tern_job SET state = 1, starts = starts + 1, since_ms = ?1 WHERE id = ?2",
        now, job)
      run("SELECT payload FROM grdb_tern_job WHERE id = ?1", job)
      return job
    }

    func complete(_ job: Int64) {
      run(
        """
        INSERT INTO grdb_tern_jobhistory (id, kind, service, lane, state, since_ms, ready_ms,
          starts, failures, enqueued_ms, priority)
        SELECT id, kind, service, lane, 2, ?1, ready_ms, starts, failures, enqueued_ms, priority
        FROM grdb_tern_job WHERE id = ?2
        """, now, job)
      run("DELETE FROM grdb_tern_job WHERE id = ?1", job)
      run("DELETE FROM grdb_tern_jobcheckpoint WHERE job = ?1", job)
      run("DELETE FROM grdb_tern_joberror WHERE job = ?1", job)
      run("DELETE FROM grdb_tern_jobfile WHERE job = ?1", job)
      run("UPDATE grdb_tern_jobqueue SET unfinished = unfinished - 1, ended = ended + 1")
    }

    static let trim = """
      DELETE FROM grdb_tern_jobhistory WHERE id IN (
        SELECT id FROM grdb_tern_jobhistory ORDER BY since_ms, id
        LIMIT max((SELECT ended FROM grdb_tern_jobqueue) - 100, 0))
      """
  }
}
