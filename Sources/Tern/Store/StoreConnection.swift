import GRDB
import TernDatabase

/// The connection of one transaction of a replica: its statements are prepared once.
final class StoreConnection {
  let db: Database
  let tables: StoreTables
  /// Of the connection, where it is the one that writes.
  private let memory: StatementMemory?

  init(_ db: Database, _ tables: StoreTables, memory: StatementMemory?) {
    (self.db, self.tables, self.memory) = (db, tables, memory)
  }

  func statement(_ sql: String) throws -> FastStatement {
    try memory?.statement(db, sql) ?? FastStatement(db, sql)
  }

  func count(_ table: String) throws -> Int {
    let select = try statement("SELECT count(*) FROM \(table)")
    return try select.first { select.int(0) } ?? 0
  }
}
