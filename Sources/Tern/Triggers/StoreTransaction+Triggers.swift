import GRDB
import TernCore
import TernDatabase

extension StoreTransaction {
  /// Runs what puts a state into tables, so that the app's triggers change no row of a synced
  /// table: without the unsafe ones, ``AppTriggers``. The others run, and observers of what they
  /// write to are told.
  func merging<T>(_ body: () throws -> T) throws -> T {
    if isMerging { return try body() }
    triggers = try appTriggers()
    isMerging = true
    defer { (isMerging, triggers) = (false, AppTriggers()) }
    if triggers.isEmpty { return try body() }
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
    if triggers.unsafe.isEmpty { return try body() }
    let copies = triggers.harmless.filter { !$0.isTemporary }.enumerated().map {
      let name = "\(tables.prefix)copy_\($0)"
      return (name: name, sql: $1.text!.temporary(name))
    }
    let hidden = triggers.unsafe.filter(\.isTemporary).map { (name: $0.name, sql: $0.sql) }
    return try db.withoutTriggers(but: copies, hiding: hidden, body)
  }

  /// A statement that writes to an app's table. One whose triggers cannot be compiled, because they
  /// name what is not there, is refused as it runs.
  func appStatement(_ sql: String) throws -> FastStatement {
    do {
      return try statement(sql)
    } catch let error as DatabaseError
      where error.resultCode == .SQLITE_ERROR && !triggers.harmless.isEmpty
    {
      return try withoutTriggers { try statement(sql) }
    }
  }

  /// From here on the temporary schema is not the one that was committed.
  func withoutTriggers<T>(_ body: () throws -> T) throws -> T {
    knownTriggers = nil
    return try db.withoutTriggers(body)
  }

  func appTriggers() throws -> AppTriggers {
    try knownTriggers?.triggers(db) { try readTriggers() } ?? readTriggers()
  }

  private func readTriggers() throws -> AppTriggers {
    try AppTriggers(db, of: sql.map(\.shape.name)) {
      let synced = try syncedColumns()
      return AppTriggers.Surroundings(
        synced: synced,
        parents: Set(try actions().filter { synced[$0.child] != nil }.map(\.parent)),
        hidden: try temporaryNames())
    }
  }

  /// The triggers' writes went past GRDB.
  private func notifyTargets() throws {
    if !hasWrittenRows || triggers.targets.isEmpty { return }
    for name in try db.observableTables() where triggers.areWriting(to: name) {
      try db.notifyChanges(in: Table(name))
    }
  }

  private func temporaryNames() throws -> Set<String> {
    let names = try String.fetchAll(
      db, sql: "SELECT name FROM temp.sqlite_temp_master WHERE type IN ('table', 'view')")
    return Set(names.map(\.folded))
  }

  /// Which tables, by their folded names, refer to which by foreign keys with an action.
  func actions() throws -> [(child: String, parent: String)] {
    let select = try statement(
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
      if others.prefix == tables.prefix { continue }
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

// MARK: - Triggers that fail

/// Nearly no file has any, so their table comes with the first, and goes when the replica is opened
/// again.
extension StoreTransaction {
  struct FailedTriggers {
    var table: String
    var error: String
    var count: Int
  }

  /// Notes that a merged row was written without the app's triggers, one of which failed.
  func noteFailedTrigger(on table: String, _ error: String) throws {
    if try !db.hasTable(tables.failedTriggers) {
      knownTriggers = nil
      try db.execute(
        sql: """
          CREATE TABLE main.\(tables.failedTriggers) (
            tbl TEXT PRIMARY KEY, error TEXT NOT NULL, count INTEGER NOT NULL) WITHOUT ROWID
          """)
    }
    let note = try statement(
      """
      INSERT INTO main.\(tables.failedTriggers) VALUES (?1, ?2, 1)
      ON CONFLICT (tbl) DO UPDATE SET error = ?2, count = count + 1
      """)
    note.bindAll(table, error)
    try note.run()
  }

  func failedTriggers() throws -> [FailedTriggers] {
    guard try db.hasTable(tables.failedTriggers) else { return [] }
    let select = try statement(
      "SELECT tbl, error, count FROM main.\(tables.failedTriggers) ORDER BY tbl")
    var failed: [FailedTriggers] = []
    try select.each {
      failed.append(.init(table: select.text(0), error: select.text(1), count: select.int(2)))
    }
    return failed
  }

  func forgetFailedTriggers() throws {
    if try db.hasTable(tables.failedTriggers) {
      try db.execute(sql: "DROP TABLE main.\(tables.failedTriggers)")
    }
  }
}
