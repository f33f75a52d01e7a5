import TernCore
import TernDatabase

/// What a ``RareTable`` has of triggers that failed, until the replica is opened again.
struct FailedTriggerTable {
  struct Failure {
    var table: String
    var error: String
    var count: Int
  }

  private let connection: StoreConnection
  private var name: String { connection.tables.failedTriggers }

  init(_ connection: StoreConnection) {
    self.connection = connection
  }

  /// Notes that a merged row was written without the app's triggers, one of which failed.
  func note(on table: String, _ error: String) throws {
    let note = try connection.statement(
      """
      INSERT INTO \(name) (tbl, error, count) VALUES (?1, ?2, 1)
      ON CONFLICT (tbl) DO UPDATE SET error = ?2, count = count + 1
      """)
    note.bindAll(table, error)
    try note.run()
  }

  func all() throws -> [Failure] {
    let select = try connection.statement("SELECT tbl, error, count FROM \(name) ORDER BY tbl")
    var failed: [Failure] = []
    try select.each {
      failed.append(.init(table: select.text(0), error: select.text(1), count: select.int(2)))
    }
    return failed
  }

  func forget() throws {
    // With a condition, because without SQLite would write the page of a table that is empty.
    try connection.statement("DELETE FROM \(name) WHERE count > 0").run()
  }
}
