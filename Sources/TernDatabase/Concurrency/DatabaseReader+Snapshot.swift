import GRDB

extension DatabaseReader {
  /// Reads in one transaction, told to nobody.
  ///
  /// `DatabaseQueue.read` switches `query_only` on and off around it, and SQLite then prepares
  /// every statement of the connection again, the app's too. Here the transaction goes past GRDB,
  /// so that observers do not hear of it either. `body` must not write.
  package func readSnapshot<T>(_ body: (Database) throws -> T) throws -> T {
    try unsafeRead { db in
      try FastStatement(db, "BEGIN DEFERRED").run()
      let result = Result { try body(db) }
      // An error may have ended it: an interruption, a disk that is gone.
      if db.isInsideTransaction { try FastStatement(db, "COMMIT").run() }
      return try result.get()
    }
  }
}
