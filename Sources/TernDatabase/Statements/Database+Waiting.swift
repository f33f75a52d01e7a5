import GRDB
import GRDBSQLite

extension Database {
  /// Has SQLite wait so long for other connections, in place of what the app has it do.
  package func waiting<T>(milliseconds: Int32, _ body: () throws -> T) throws -> T {
    let before = try Int32.fetchOne(self, sql: "PRAGMA busy_timeout") ?? 0
    sqlite3_busy_timeout(sqliteConnection, milliseconds)
    defer {
      sqlite3_busy_timeout(sqliteConnection, before)
      if before == 0, case .callback = configuration.busyMode { setBusyCallback() }
    }
    return try body()
  }

  /// One transaction with the write lock from its beginning. Where the app has SQLite wait for
  /// nobody, it waits up to five seconds for whoever writes.
  ///
  /// GRDB remembers what is looked up of the schema in here. A rollback makes it forget that.
  package func inWaitingTransaction(_ body: () throws -> TransactionCompletion) throws {
    var completion = TransactionCompletion.rollback
    do {
      try beginningOrWaiting { hasBegun in
        try inTransaction(.immediate) {
          hasBegun = true
          completion = try body()
          return completion
        }
      }
    } catch {
      clearSchemaCache()
      throw error
    }
    if completion == .rollback { clearSchemaCache() }
  }

  /// The same for a body in which no code of the app's runs: BEGIN and COMMIT are prepared once a
  /// connection, where GRDB has SQLite read them each time.
  ///
  /// GRDB's observers are told as ever. What GRDB does besides is to refuse its statements behind
  /// one that ended the transaction; here whoever runs that throws ``TransactionEnded``.
  ///
  /// - Parameter statements: of this connection.
  package func inOwnTransaction<T>(_ statements: StatementMemory, _ body: () throws -> T) throws
    -> T
  {
    var output: T?
    try beginningOrWaiting { hasBegun in
      try statements.execute(self, "BEGIN IMMEDIATE TRANSACTION")
      hasBegun = true
      do {
        output = try body()
        guard isInsideTransaction else {
          throw DatabaseError(resultCode: .SQLITE_ABORT, message: "Transaction was aborted")
        }
        try statements.execute(self, "COMMIT TRANSACTION")
      } catch {
        // What failed first is what the caller is told.
        try? rollback()
        // Statements that were prepared behind a table that is gone again go with it.
        statements.forgetAll()
        clearSchemaCache()
        throw error
      }
    }
    return output!
  }

  /// - Parameter transact: says when it has the lock.
  private func beginningOrWaiting(_ transact: (_ hasBegun: inout Bool) throws -> Void) throws {
    var hasBegun = false
    do {
      try transact(&hasBegun)
    } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY && !hasBegun {
      guard case .immediateError = configuration.busyMode else { throw error }
      try waiting(milliseconds: 5000) { try transact(&hasBegun) }
    }
  }

  /// As GRDB does for a connection that it opens.
  private func setBusyCallback() {
    sqlite3_busy_handler(
      sqliteConnection,
      { database, count in
        let database = Unmanaged<Database>.fromOpaque(database!).takeUnretainedValue()
        guard case .callback(let mayWait) = database.configuration.busyMode else { return 0 }
        return mayWait(Int(count)) ? 1 : 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }
}
