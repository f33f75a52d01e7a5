import GRDB
import TernCore
import TernDatabase

extension DatabaseError {
  /// Whether there is no room, or nothing can be read or written: whoever's statement met it, it is
  /// not to blame.
  var isOfDisk: Bool {
    switch resultCode {
    case .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_NOMEM: true
    default: false
    }
  }

  /// Whether the database itself said it, and no statement of the app's: it passes, or nothing more
  /// can be written here. Of the rest, an observer or a trigger of the app's is as
  /// likely the author.
  fileprivate var isOfDatabase: Bool {
    switch resultCode {
    case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_READONLY, .SQLITE_CANTOPEN: true
    default: isOfDisk || passes
    }
  }
}

/// What the app's part of a transaction threw, or may have: a trigger of its own on the queue's
/// tables says it in the queue's statement.
struct OfApp: Error {
  let error: any Error
  /// Whether its code threw it, in a step's commit.
  var isOfCode = false
}

/// The database, as the one worker uses it. Each call blocks the caller's actor, which is the
/// worker's own or one that shares its executor.
struct WorkerDatabase: Sendable {
  let queue: JobQueue
  let signals: RunSignals

  /// Reads, decides and writes in one transaction, waiting while another process is in the way
  /// or the app has suspended the database.
  /// `body` can run again, after all that it wrote was rolled back.
  ///
  /// - Parameter isDurable: as in ``transaction(isDurable:isolation:_:)``.
  func write<T>(
    isDurable: Bool = true, isolation: isolated (any Actor)? = #isolation,
    _ body: (JobTransaction) throws -> T
  ) async throws -> T {
    do {
      return try await transaction(isDurable: isDurable, body)
    } catch let refused as OfApp {
      throw refused.error
    }
  }

  /// ``write(isDurable:isolation:_:)`` that tells what the app refuses from what the database does.
  ///
  /// - Throws: ``OfApp`` when an observer of the app's, or a constraint that is looked at as late,
  ///   refused the commit, or a constraint or a trigger a statement before it; or when the app's
  ///   code went on behind a statement that had ended the transaction.
  ///
  /// - Parameter isDurable: `false` for what may be lost with the power, though never with the
  ///   process: it does not wait for the disk where it need not.
  func transaction<T>(
    isDurable: Bool = true, isolation: isolated (any Actor)? = #isolation,
    _ body: (JobTransaction) throws -> T
  ) async throws -> T {
    var hasEnded = false
    return try await persistently {
      // Another database that the body uses says the same of itself.
      var isOfThis = true
      do {
        return try queue.database.writeWithoutTransaction { db in
          try queue.transact(db, isDurable: isDurable) { rows in
            do {
              return try body(rows)
            } catch {
              isOfThis = !rows.db.isInsideTransaction
              throw error
            }
          }
        }
      } catch let error as DatabaseError where error.resultCode == .SQLITE_ABORT && isOfThis {
        // That the app has suspended the database is said again here.
        try queue.database.writeWithoutTransaction { db in
          try db.inTransaction(.immediate) { .rollback }
        }
        // The first time it may have been suspended for a moment.
        if hasEnded { throw OfApp(error: JobQueueError.transactionEnded) }
        hasEnded = true
        throw error
      }
    }
  }

  func read<T>(
    isolation: isolated (any Actor)? = #isolation, _ body: (JobTransaction) throws -> T
  ) async throws -> T {
    try await persistently {
      try queue.database.readSnapshot { db in try body(JobTransaction(db, limits: queue.limits)) }
    }
  }

  /// Another number after each commit of another process.
  func version(isolation: isolated (any Actor)? = #isolation) async throws -> Int64? {
    try await persistently {
      try queue.database.writeWithoutTransaction {
        try Int64.fetchOne($0, sql: "PRAGMA data_version")
      }
    }
  }

  func persistently<T>(
    isolation: isolated (any Actor)? = #isolation, _ body: () throws -> T
  ) async throws -> T {
    var backoff = Backoff(base: .milliseconds(10), limit: .seconds(1))
    while true {
      if let failure = signals.failure { throw failure }
      do {
        return try body()
      } catch let error as DatabaseError where error.passes {
        let environment = queue.environment
        try await environment.clock.sleep(for: backoff.next(jitter: environment.jitter()))
      }
    }
  }

  /// ``transaction(isDurable:isolation:_:)``, also when the worker was told to end: then as long as
  /// ``transactionWaiting(_:)`` waits, once for all of them.
  ///
  /// - Throws: `CancellationError` where that was not long enough.
  func transactionToTheEnd(
    isolation: isolated (any Actor)? = #isolation, _ body: (JobTransaction) throws -> Void
  ) async throws {
    do {
      // Told to end, it would wait twice as long as the app has SQLite wait.
      if !Task.isCancelled { return try await transaction(body) }
    } catch is CancellationError where Task.isCancelled {
      // In its sleep.
    }
    if let failure = signals.failure { throw failure }
    do {
      try transactionWaiting(body)
    } catch let error as DatabaseError where error.passes {
      signals.noteWaitInVain()
      throw CancellationError()
    }
  }

  /// One try, in which SQLite waits five seconds for whoever writes, unless the app has it wait
  /// already: no task sleeps that is cancelled. Once that was in vain, it waits no more.
  func transactionWaiting<T>(_ body: (JobTransaction) throws -> T) throws -> T {
    let isInVain = signals.hasWaitedInVain
    return try queue.database.writeWithoutTransaction { db in
      func transact() throws -> T { try queue.transact(db, isDurable: true, body) }
      if isInVain { return try db.waiting(milliseconds: 0, transact) }
      guard case .immediateError = db.configuration.busyMode else { return try transact() }
      return try db.waiting(milliseconds: 5000, transact)
    }
  }
}

extension JobQueue {
  /// A worker's transaction, on the writing connection.
  fileprivate func transact<T>(
    _ db: Database, isDurable: Bool, _ body: (JobTransaction) throws -> T
  ) throws -> T {
    var isWritten = false
    func written(_ db: Database) throws -> T {
      let result = try body(JobTransaction(db, limits: limits, events: events))
      isWritten = true
      return result
    }
    do {
      return isDurable
        ? try Durability.transact(db, written) : try durability.transactUnsynced(db, written)
    } catch {
      // Of a commit that failed too, and before anybody else has the connection.
      events?.drop(db)
      let error = error
      if let error = error as? DatabaseError {
        throw error.isOfDatabase ? error : OfApp(error: error)
      }
      throw isWritten ? OfApp(error: error) : error
    }
  }
}
