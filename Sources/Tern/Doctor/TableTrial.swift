import GRDB
import TernCore
import TernDatabase

/// A table's declaration and its indices in a database in memory, to ask SQLite whether it would
/// take a row.
struct TableTrial {
  private let queue: DatabaseQueue
  private let shape: TableShape

  /// `nil` for a declaration that needs something which only the app has.
  init?(_ shape: TableShape, _ db: Database) throws {
    // An index may have an expression that fails with a row's values.
    let declarations = try String.fetchAll(
      db,
      sql: """
        SELECT sql FROM main.sqlite_master
        WHERE type IN ('table', 'index') AND sql IS NOT NULL AND tbl_name = ? COLLATE NOCASE
        ORDER BY type DESC, name
        """, arguments: [shape.name])
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    queue = try DatabaseQueue(configuration: configuration)
    self.shape = shape
    do {
      try queue.write { db in
        for sql in declarations { try db.execute(sql: sql) }
      }
      guard try queue.read({ try $0.tableExists(shape.name) }) else { return nil }
    } catch is DatabaseError {
      return nil
    }
  }

  /// Whether a constraint other than a foreign key refuses the row; `nil` where an expression fails
  /// with it, and where a function or a collation of the app's decides.
  func refuses(_ key: [SQLiteValue], _ content: [String: SQLiteValue]) throws -> Bool? {
    let names = shape.keyColumns + content.keys.sorted()
    let values = key + content.keys.sorted().map { content[$0] ?? .null }
    let sql =
      "INSERT OR ABORT INTO \(shape.name.quoted) (\(names.map(\.quoted).joined(separator: ", "))) "
      + "VALUES (\(values.map { _ in "?" }.joined(separator: ", ")))"
    do {
      try queue.inTransaction { db in
        try db.runBound(sql, values)
        return .rollback
      }
      return false
    } catch let error as DatabaseError {
      return error.resultCode == .SQLITE_CONSTRAINT ? true : nil
    }
  }
}
