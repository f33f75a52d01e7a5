import GRDB
import Tern

extension Device {
  package func execute(_ sql: String, _ arguments: StatementArguments = .init()) throws {
    try database.write { try $0.execute(sql: sql, arguments: arguments) }
  }

  /// Writes and seals. What another device sealed in the same millisecond is not before it: `delay`.
  package func commit(_ sql: String) throws {
    try execute(sql)
    try store.seal()
  }

  package func rows(_ sql: String) throws -> [[DatabaseValue]] {
    try database.read { db in
      try Row.fetchAll(db, sql: sql).map { Array($0.databaseValues) }
    }
  }
}
