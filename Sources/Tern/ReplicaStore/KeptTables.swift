import GRDB
import TernCore
import TernDatabase

/// Makes states anew while the app's tables stay as they are, whatever wrote them: an app's
/// triggers, a migration, an edit that is too large to travel.
///
/// Only columns whose value is made of several (counters, extremes, sets, texts) can come out
/// otherwise, where another id changes an order, and then show that.
struct KeptTables {
  private let transaction: StoreTransaction
  private var db: Database { transaction.db }
  /// Tern's own that say what the tables do not show, or what happened.
  private let own: [String]

  init(_ transaction: StoreTransaction) {
    self.transaction = transaction
    let tables = transaction.tables
    own = [
      tables.held, tables.waits, tables.unsettledRow, tables.kept, tables.large, tables.inbox,
      tables.dismissed, tables.conflict, tables.toldFork,
    ]
  }

  /// - Parameter body: may do with the tables what it likes. No trigger fires.
  func keeping(_ body: () throws -> Void) throws {
    let names = transaction.sql.map { (shape: $0.shape, name: $0.shape.name) }
    try db.withoutTriggers {
      for (shape, _) in names {
        // Under its own name: SQLite calls it rowid in the copy.
        let rowID = shape.rowIDName.map { "\($0) AS \($0), " } ?? ""
        try copy("main.\(shape.name.quoted)", rowID + stored(shape), to: old(shape))
      }
      let kept = try own.filter { try transaction.connection.isThere($0) }
      for name in kept { try copy("main.\(name)", "*", to: "old_\(name)") }
      try body()
      for (shape, _) in names { try putBack(shape) }
      for name in own { try transaction.statement("DELETE FROM \(name)").run() }
      for name in kept {
        try db.execute(sql: "INSERT INTO main.\(name) SELECT * FROM temp.old_\(name)")
        try db.execute(sql: "DROP TABLE temp.old_\(name)")
      }
    }
  }

  private func old(_ shape: TableShape) -> String { "grdb_tern_old_\(shape.id)" }
  private func made(_ shape: TableShape) -> String { "grdb_tern_made_\(shape.id)" }

  private func copy(_ table: String, _ columns: String, to copy: String) throws {
    try db.execute(sql: "CREATE TEMP TABLE \(copy) AS SELECT \(columns) FROM \(table)")
  }

  /// The columns that are no generated ones.
  private func stored(_ shape: TableShape) throws -> String {
    try String.fetchAll(
      db, sql: "SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden = 0 ORDER BY cid",
      arguments: [shape.name]
    ).map(\.quoted).joined(separator: ", ")
  }

  private func putBack(_ shape: TableShape) throws {
    let table = "main.\(shape.name.quoted)"
    // The rowid too, which other tables of the app may name.
    let columns = try (shape.rowIDName.map { "\($0), " } ?? "") + stored(shape)
    let computed = shape.columns.filter { !$0.rule.isLastWriter }.map(\.name.quoted)
    let keys = shape.keyColumns.map(\.quoted)
    if !computed.isEmpty {
      try copy(table, (keys + computed).joined(separator: ", "), to: made(shape))
      try db.execute(
        sql:
          "CREATE INDEX temp.\(made(shape))_key ON \(made(shape)) (\(keys.joined(separator: ", ")))"
      )
    }
    try db.execute(sql: "DELETE FROM \(table)")
    try db.execute(
      sql: "INSERT INTO \(table) (\(columns)) SELECT \(columns) FROM temp.\(old(shape))")
    try db.execute(sql: "DROP TABLE temp.\(old(shape))")
    if computed.isEmpty { return }
    let match = keys.map { "\(table).\($0) = made.\($0)" }.joined(separator: " AND ")
    let differs = computed.map { "\(table).\($0) IS NOT made.\($0)" }.joined(separator: " OR ")
    let values = computed.map { "\($0) = made.\($0)" }.joined(separator: ", ")
    try db.execute(
      sql: """
        UPDATE \(table) SET \(values) FROM temp.\(made(shape)) AS made
        WHERE \(match) AND (\(differs))
        """)
    try db.execute(sql: "DROP TABLE temp.\(made(shape))")
  }
}
