import GRDB
import TernCore
import TernDatabase

/// What all tables of the queue share in one transaction: the connection, and the limits.
struct JobConnection {
  let db: Database
  let limits: JobLimits

  /// A statement that SQLite reads once.
  func run(_ sql: String, _ values: [any BindableValue] = []) throws {
    try db.runBound(sql, values)
  }

  func row(_ sql: String, _ arguments: StatementArguments = []) throws -> Row? {
    try Row.fetchOne(db.cachedStatement(sql: sql), arguments: arguments)
  }

  func rows(_ sql: String, _ arguments: StatementArguments = []) throws -> [Row] {
    try Row.fetchAll(db.cachedStatement(sql: sql), arguments: arguments)
  }
}
