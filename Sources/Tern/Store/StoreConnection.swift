import GRDB
import TernDatabase

/// The connection of one transaction of a replica: its statements are prepared once.
///
/// They name the replica's tables as if all were there. A ``RareTable`` that is not reads as empty,
/// and the first INSERT makes it, in this transaction.
final class StoreConnection {
  let db: Database
  let tables: StoreTables
  /// Of the connection, where it is the one that writes. It outlives a rollback, so that another
  /// takes its place once this transaction has made a table.
  private var memory: StatementMemory?
  /// Whether this transaction made a table. SQLite's number of the schema is then one that comes
  /// again for another schema, if this is rolled back.
  private(set) var hasMadeTables = false

  init(_ db: Database, _ tables: StoreTables, memory: StatementMemory?) {
    (self.db, self.tables, self.memory) = (db, tables, memory)
  }

  func statement(_ sql: String) throws -> FastStatement {
    guard let memory else { return try FastStatement(db, text(of: sql)) }
    // The text of one that makes a table puts another memory in its place.
    return try memory.statement(db, sql) { try (text(of: $0), self.memory === memory) }
  }

  /// A table that was made in one that is rolled back is gone, and what was prepared with it.
  func inSavepoint(_ body: () throws -> Database.TransactionCompletion) throws {
    defer { if hasMadeTables { memory = StatementMemory() } }
    try db.inSavepoint(body)
  }

  func count(_ table: String) throws -> Int {
    let select = try statement("SELECT count(*) FROM \(table)")
    return try select.first { select.int(0) } ?? 0
  }

  // MARK: - Tables that may not be there

  /// Takes the same parameters, and changes nothing.
  private static let nothing = "SELECT ?16 WHERE 0"

  /// A statement as SQLite can read it: the rare tables that are not there are empty ones of its
  /// own, unless it inserts into one, which is made. One that deletes from one, or updates it, has
  /// nothing to do.
  ///
  /// Asks SQLite each time which are there. Others make tables too, and a savepoint that is rolled
  /// back takes them away again.
  func text(of sql: String) throws -> String {
    let named = tables.rare.named(in: sql)
    guard let first = named.first else { return sql }
    var absent = try named.map(\.table).filter { try !isThere($0.name) }
    if absent.first?.name == first.table.name {
      let head = sql.utf8.prefix(first.offset)
      if head.elementsEqual("DELETE FROM ".utf8) || head.elementsEqual("UPDATE ".utf8) {
        return Self.nothing
      }
      if head.suffix(5).elementsEqual("INTO ".utf8) { try make(absent.removeFirst()) }
    }
    if absent.isEmpty { return sql }
    return "WITH \(absent.map(\.empty).joined(separator: ", ")) \(sql)"
  }

  func isThere(_ table: String) throws -> Bool {
    let select = try FastStatement(
      db, "SELECT 1 FROM main.sqlite_master WHERE name = ? AND type = 'table'")
    select.bind(1, copy: .string(table))
    return try select.first {} != nil
  }

  private func make(_ table: RareTable) throws {
    (memory, hasMadeTables) = (StatementMemory(), true)
    for statement in table.creation { try db.execute(sql: statement) }
  }
}
