import GRDB
import GRDBSQLite

extension Durability {
  /// Makes the writing connection keep this durability, and checks that it does.
  ///
  /// Call it after opening: `DatabasePool` sets `synchronous` to NORMAL behind the configuration's
  /// `prepareDatabase`. It is the connection's setting, not the file's, and only of the main
  /// database: attached ones keep theirs. Nothing is to be done for a database in memory.
  ///
  /// All that writes by this connection shares it. A greater one takes the place of a lesser; a
  /// lesser one is refused for as long as the connection is open.
  ///
  /// - Throws: ``DatabaseSetupError``.
  package func apply(to writer: some DatabaseWriter) throws {
    try writer.writeWithoutTransaction { db in
      do {
        try apply(to: db)
      } catch let error as DatabaseError {
        throw DatabaseSetupError(
          .durabilityNotApplied, database: db.filename, underlyingError: error)
      }
    }
  }

  /// In a transaction SQLite would refuse.
  private func apply(to db: Database) throws {
    if db.filename.isEmpty { return }
    if db.isReadOnly { throw DatabaseSetupError(.readOnly, database: db.filename) }
    let isPromised = PowerLossPromises.hold(for: db)
    if self != .powerLoss, isPromised {
      throw DatabaseSetupError(.lowerDurability, database: db.filename)
    }
    let journal = try String.fetchOne(db, sql: "PRAGMA main.journal_mode") ?? ""
    guard let level = synchronousLevel(journalMode: journal) else {
      throw DatabaseSetupError(.journalNotDurable, database: db.filename)
    }
    try set("main.synchronous", to: level.rawValue, in: db)
    // Apple's fsync leaves data in the drive's cache, from where it is written in any order: even
    // `.processCrash` needs the full kind around a checkpoint, or the file could be torn.
    try set("fullfsync", to: self == .powerLoss ? 1 : 0, in: db)
    try set("checkpoint_fullfsync", to: 1, in: db)
    if self == .powerLoss, !isPromised {
      PowerLossPromises.give(for: db)
      db.add(transactionObserver: DoubtfulLog(of: db), extent: .databaseLifetime)
    }
  }

  /// A transaction on the writing connection of which no more is promised than that it survives the
  /// process: with this durability set there, it waits for the disk no longer than that needs. A
  /// later commit that does wait makes it as durable as itself.
  ///
  /// - Throws: what `body` throws, with nothing written; `DatabaseError`; ``DatabaseSetupError``
  ///   where the connection would not go back to this durability, with all written.
  package func transactUnsynced<T>(_ db: Database, _ body: (Database) throws -> T) throws -> T {
    // Only a log in WAL mode is synced apart from the file, and only there less is safe.
    guard self == .powerLoss,
      try String.fetchOne(db.cachedStatement(sql: "PRAGMA main.journal_mode")) == "wal"
    else { return try Self.transact(db, body) }
    try db.execute(sql: "PRAGMA main.synchronous = \(SynchronousLevel.normal.rawValue)")
    let outcome = Result { try Self.transact(db, body) }
    // SQLite sets this as it reads the statement, without a lock that could be in the way; where
    // it has no memory for that, nothing that follows would be as durable as it says.
    guard sqlite3_exec(db.sqliteConnection, Self.fullSync, nil, nil, nil) == SQLITE_OK else {
      throw DatabaseSetupError(.durabilityNotApplied, database: db.filename)
    }
    return try outcome.get()
  }

  private static let fullSync = "PRAGMA main.synchronous = \(SynchronousLevel.full.rawValue)"

  /// A transaction on the writing connection, as durable as that is set.
  package static func transact<T>(_ db: Database, _ body: (Database) throws -> T) throws -> T {
    var result: T?
    try db.inTransaction {
      result = try body(db)
      return .commit
    }
    return result!
  }

  /// `nil` for a journal with which not even the death of the process leaves a sound file.
  ///
  /// - Source: <https://www.sqlite.org/pragma.html#pragma_synchronous>
  private func synchronousLevel(journalMode: String) -> SynchronousLevel? {
    switch (journalMode, self) {
    case ("wal", .powerLoss): .full
    case ("wal", .processCrash): .normal
    // A commit is the journal's removal: without a sync of the directory it can come back, and
    // with it the state before. FULL leaves that out; NORMAL could also damage an old file system.
    case ("delete", .powerLoss), ("truncate", .powerLoss), ("persist", .powerLoss): .extra
    case ("delete", .processCrash), ("truncate", .processCrash), ("persist", .processCrash): .full
    default: nil
    }
  }

  private func set(_ pragma: String, to value: Int, in db: Database) throws {
    try db.execute(sql: "PRAGMA \(pragma) = \(value)")
    guard try Int.fetchOne(db, sql: "PRAGMA \(pragma)") == value else {
      throw DatabaseSetupError(.durabilityNotApplied, database: db.filename)
    }
  }
}

/// SQLite's numbers for `PRAGMA synchronous`.
private enum SynchronousLevel: Int {
  case normal = 1
  case full = 2
  case extra = 3
}

extension Database {
  /// The whole path, empty for a database in memory.
  package var filename: String {
    sqlite3_db_filename(sqliteConnection, "main").map { String(cString: $0) } ?? ""
  }

  /// By its configuration, or because the file could not be opened for writing.
  fileprivate var isReadOnly: Bool {
    configuration.readonly || sqlite3_db_readonly(sqliteConnection, "main") == 1
  }
}
