import Foundation
import GRDB
@_spi(Rehearsal) import Tern

/// The database that every device of a fleet has, and the app's releases.
package enum Library {
  /// - Parameter migrations: how many the app has by now.
  package static func schema(_ migrations: Int) -> SyncSchema {
    SyncSchema(
      version: migrations > 1 ? 2 : 1,
      tables: [
        SyncTable("entry", local: migrations > 1 ? ["size"] : []),
        SyncTable("tally", merge: ["count": .counter, "highest": .max]),
      ])
  }

  /// `progress` is not synced: the number of the last write that this file holds, kept in the
  /// write's own transaction, says whether a write whose acknowledgement was lost is there.
  package static func migrator(_ migrations: Int) -> DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1") { db in
      try db.execute(
        sql: """
          CREATE TABLE entry (id TEXT PRIMARY KEY NOT NULL, number INTEGER NOT NULL, body TEXT);
          CREATE TABLE tally (
            id TEXT PRIMARY KEY NOT NULL, count INTEGER NOT NULL DEFAULT 0, highest INTEGER,
            text TEXT);
          CREATE TABLE progress (done INTEGER NOT NULL, lifting INTEGER);
          INSERT INTO progress (done) VALUES (0)
          """)
    }
    for number in 1..<migrations {
      migrator.registerMigration("\(number + 1)") { db in
        // real time: a process that is killed at any moment has no other.
        usleep(slowMicroseconds)
        if number == 1 { try db.execute(sql: addition) }
        try db.execute(sql: number % 2 == 1 ? filling : rebuilding)
        try CrashPoint.reach(.libraryMigrating)
        try noteLifting(db)
        // real time: as above.
        usleep(slowMicroseconds)
      }
    }
    return migrator
  }

  private static let slowMicroseconds: UInt32 = 30_000

  private static let addition = "ALTER TABLE entry ADD COLUMN size INTEGER"
  private static let filling = "UPDATE entry SET size = length(body) + coalesce(size, 0)"

  private static let rebuilding = """
    CREATE TABLE made (
      size INTEGER, id TEXT PRIMARY KEY NOT NULL, body TEXT, number INTEGER NOT NULL);
    INSERT INTO made (id, number, body, size) SELECT id, number, body, size FROM entry;
    DROP TABLE entry;
    ALTER TABLE made RENAME TO entry;
    CREATE TABLE made (
      text TEXT, id TEXT PRIMARY KEY NOT NULL, highest INTEGER, count INTEGER NOT NULL DEFAULT 0);
    INSERT INTO made (id, count, highest, text) SELECT id, count, highest, text FROM tally;
    DROP TABLE tally;
    ALTER TABLE made RENAME TO tally;
    """

  /// Beside those of Tern.
  package static let points: [CrashPoint] = [.libraryMigrating]

  package static func done(_ db: Database) throws -> Int {
    try Int.fetchOne(db, sql: "SELECT done FROM progress") ?? 0
  }

  // MARK: - What others may write

  private static let lifting = "(SELECT migrated FROM grdb_tern_main_lifted)"

  /// In the migration's own transaction: for which lifting of the triggers it was.
  private static func noteLifting(_ db: Database) throws {
    guard try db.tableExists("grdb_tern_main_lifted") else { return }
    try db.execute(sql: "UPDATE progress SET lifting = \(lifting)")
  }

  /// Whether the triggers were lifted for a migration that was completed, and are not back. What
  /// others write then nobody can tell from the migration's work: see Reference.md, known limits.
  static func isMigratedAlone(_ db: Database) throws -> Bool {
    guard try db.tableExists("grdb_tern_main_lifted") else { return false }
    return try Bool.fetchOne(db, sql: "SELECT lifting IS \(lifting) FROM progress")!
  }
}

extension CrashPoint {
  /// The app's own: a migration has changed everything, and its transaction is still open.
  static let libraryMigrating = CrashPoint(rawValue: "library.migrating")
}
