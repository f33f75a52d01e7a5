import GRDB
import Tern

/// The database that every device of a fleet has.
package enum Library {
  package static let schema = SyncSchema(
    version: 1,
    tables: [
      SyncTable("entry"), SyncTable("tally", merge: ["count": .counter, "highest": .max]),
    ])

  /// `progress` is not synced: the number of the last write that this file holds, kept in the
  /// write's own transaction, says whether a write whose acknowledgement was lost is there.
  package static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1") { db in
      try db.execute(
        sql: """
          CREATE TABLE entry (id TEXT PRIMARY KEY NOT NULL, number INTEGER NOT NULL, body TEXT);
          CREATE TABLE tally (
            id TEXT PRIMARY KEY NOT NULL, count INTEGER NOT NULL DEFAULT 0, highest INTEGER,
            text TEXT);
          CREATE TABLE progress (done INTEGER NOT NULL);
          INSERT INTO progress VALUES (0)
          """)
    }
    return migrator
  }

  package static func done(_ db: Database) throws -> Int {
    try Int.fetchOne(db, sql: "SELECT done FROM progress") ?? 0
  }
}
