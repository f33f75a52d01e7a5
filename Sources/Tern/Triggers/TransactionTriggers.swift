import GRDB
import TernCore
import TernDatabase

/// The app's triggers in one transaction: which there are, and which of them run.
final class TransactionTriggers {
  private let connection: StoreConnection
  private let sql: [TableSQL]
  /// In a transaction of Tern's own, until that changes the schema.
  private var known: KnownTriggers?
  /// While ``merging(_:)`` runs: what it meets of them.
  private(set) var met = AppTriggers()
  private var isMerging = false
  /// Unsynced tables to which is written besides.
  private var others: [String] = []
  /// Whether a table of the app's took a write, so that its triggers may have run.
  var hasWrittenRows = false
  private var db: Database { connection.db }
  private var tables: StoreTables { connection.tables }

  init(_ connection: StoreConnection, of sql: [TableSQL], known: KnownTriggers?) {
    (self.connection, self.sql, self.known) = (connection, sql, known)
  }

  /// Runs what puts a state into tables, so that the app's triggers change no row of a synced
  /// table: without the unsafe ones, ``AppTriggers``. The others run, and observers of what they
  /// write to are told.
  func merging<T>(_ body: () throws -> T) throws -> T {
    if isMerging { return try body() }
    met = try all()
    isMerging = true
    defer { (isMerging, met) = (false, AppTriggers()) }
    if met.isEmpty { return try body() }
    do {
      let output = try withoutUnsafeTriggers(body)
      try notifyTargets()
      return output
    } catch {
      // An app's own transaction may go on. What failed first is what its caller is told.
      try? notifyTargets()
      throw error
    }
  }

  private func withoutUnsafeTriggers<T>(_ body: () throws -> T) throws -> T {
    if met.unsafe.isEmpty { return try body() }
    let copies = met.harmless.filter { !$0.isTemporary }.enumerated().map {
      let name = "\(tables.prefix)copy_\($0)"
      return (name: name, sql: $1.text!.temporary(name))
    }
    let hidden = met.unsafe.filter(\.isTemporary).map { (name: $0.name, sql: $0.sql) }
    return try db.withoutTriggers(but: copies, hiding: hidden, body)
  }

  /// A statement that writes to an app's table. One whose triggers cannot be compiled, because they
  /// name what is not there, is refused as it runs.
  func statement(_ sql: String) throws -> FastStatement {
    do {
      return try connection.statement(sql)
    } catch let error as DatabaseError
      where error.resultCode == .SQLITE_ERROR && !met.harmless.isEmpty
    {
      return try withoutTriggers { try connection.statement(sql) }
    }
  }

  /// From here on the temporary schema is not the one that was committed.
  func withoutTriggers<T>(_ body: () throws -> T) throws -> T {
    known = nil
    return try db.withoutTriggers(body)
  }

  func all() throws -> AppTriggers {
    if connection.hasMadeTables { known = nil }
    return try known?.triggers(db) { try read() } ?? read()
  }

  /// Has ``merging(_:)`` see to the triggers on unsynced tables too, for what it writes there.
  func include(_ tables: [String]) {
    (known, others) = (nil, tables)
  }

  private func read() throws -> AppTriggers {
    try AppTriggers(db, of: sql.map(\.shape.name) + others) {
      let synced = try syncedColumns()
      return AppTriggers.Surroundings(
        synced: synced,
        parents: Set(try actions().filter { synced[$0.child] != nil }.map(\.parent)),
        hidden: try temporaryNames())
    }
  }

  /// The triggers' writes went past GRDB.
  private func notifyTargets() throws {
    if !hasWrittenRows || met.targets.isEmpty { return }
    for name in try db.observableTables() where met.areWriting(to: name) {
      try db.notifyChanges(inTable: name)
    }
  }

  private func temporaryNames() throws -> Set<String> {
    let names = try String.fetchAll(
      db, sql: "SELECT name FROM temp.sqlite_temp_master WHERE type IN ('table', 'view')")
    return Set(names.map(\.folded))
  }

  /// Which tables, by their folded names, refer to which by foreign keys with an action.
  func actions() throws -> [(child: String, parent: String)] {
    let select = try connection.statement(
      """
      SELECT t.name, f."table" FROM main.sqlite_master AS t,
        pragma_foreign_key_list(t.name, 'main') AS f
      WHERE t.type = 'table' AND (f.on_delete IN ('CASCADE', 'SET NULL', 'SET DEFAULT')
        OR f.on_update IN ('CASCADE', 'SET NULL', 'SET DEFAULT'))
      """)
    var actions: [(child: String, parent: String)] = []
    try select.each { actions.append((select.text(0).folded, select.text(1).folded)) }
    return actions
  }

  private func syncedColumns() throws -> [String: Set<String>] {
    var synced: [String: Set<String>] = [:]
    for shape in sql.map(\.shape) {
      let columns = shape.columns.map(\.name) + shape.keyColumns
      synced[shape.name.folded] = Set(columns.map(\.folded))
    }
    for name in try StoreTables.replicas(in: db) {
      let others = StoreTables(name: name)
      if others.prefix == tables.prefix || Planted.isActive(.othersUncounted) { continue }
      for table in try InstalledTable.all(db, others) where table.isSynced {
        let keys = try String.fetchAll(
          db, sql: "SELECT name FROM pragma_table_xinfo(?, 'main') WHERE pk > 0",
          arguments: [table.name])
        let columns = table.columns.filter(\.isPresent).map(\.name) + keys
        synced[table.name.folded, default: []].formUnion(columns.map(\.folded))
      }
    }
    return synced
  }
}
