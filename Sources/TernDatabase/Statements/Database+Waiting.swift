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
  package func inWaitingTransaction(_ body: () throws -> TransactionCompletion) throws {
    var hasBegun = false
    func transact() throws {
      try inTransaction(.immediate) {
        hasBegun = true
        return try body()
      }
    }
    do {
      try transact()
    } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY && !hasBegun {
      guard case .immediateError = configuration.busyMode else { throw error }
      try waiting(milliseconds: 5000, transact)
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
