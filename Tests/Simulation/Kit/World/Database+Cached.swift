#if Server && Rehearsal
import GRDB

/// Statements that are prepared once for a connection: preparing them, with the triggers that they
/// fire, was a third of what a seed cost.
extension Database {
  func run(_ sql: String, arguments: StatementArguments = StatementArguments()) throws {
    try cachedStatement(sql: sql).execute(arguments: arguments)
  }

  func strings(_ sql: String, arguments: StatementArguments = StatementArguments()) throws
    -> [String]
  {
    try String.fetchAll(cachedStatement(sql: sql), arguments: arguments)
  }

  func integer(_ sql: String, arguments: StatementArguments = StatementArguments()) throws
    -> Int64?
  {
    try Int64.fetchOne(cachedStatement(sql: sql), arguments: arguments)
  }
}
#endif
