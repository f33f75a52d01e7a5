import GRDB
import TernCore
import TernDatabase

/// Nearly no file has any, so their table comes with the first, and goes when the replica is opened
/// again.
struct FailedTriggerTable {
  struct Failure {
    var table: String
    var error: String
    var count: Int
  }

  private let connection: StoreConnection
  private let triggers: TransactionTriggers
  private var db: Database { connection.db }
  private var name: String { connection.tables.failedTriggers }

  init(_ connection: StoreConnection, _ triggers: TransactionTriggers) {
    (self.connection, self.triggers) = (connection, triggers)
  }

  /// Notes that a merged row was written without the app's triggers, one of which failed.
  func note(on table: String, _ error: String) throws {
    if try !db.hasTable(name) {
      triggers.forgetKnown()
      try db.execute(
        sql: """
          CREATE TABLE main.\(name) (
            tbl TEXT PRIMARY KEY, error TEXT NOT NULL, count INTEGER NOT NULL) WITHOUT ROWID
          """)
    }
    let note = try connection.statement(
      """
      INSERT INTO main.\(name) VALUES (?1, ?2, 1)
      ON CONFLICT (tbl) DO UPDATE SET error = ?2, count = count + 1
      """)
    note.bindAll(table, error)
    try note.run()
  }

  func all() throws -> [Failure] {
    guard try db.hasTable(name) else { return [] }
    let select = try connection.statement(
      "SELECT tbl, error, count FROM main.\(name) ORDER BY tbl")
    var failed: [Failure] = []
    try select.each {
      failed.append(.init(table: select.text(0), error: select.text(1), count: select.int(2)))
    }
    return failed
  }

  func forget() throws {
    if try db.hasTable(name) {
      try db.execute(sql: "DROP TABLE main.\(name)")
    }
  }
}
