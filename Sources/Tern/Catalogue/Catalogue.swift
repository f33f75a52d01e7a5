import Foundation
import GRDB
import TernCore

/// Gives tables and columns numbers that stay theirs over renames, drops and restarts.
struct Catalogue {
  let db: Database
  let tables: StoreTables

  struct Change {
    var shape: TableShape
    /// The table was not synced before, and its rows are to be adopted.
    var isNewTable: Bool
    /// Texts that were not merged before, and whose content is to be adopted.
    var newTexts: [TableShape.Column] = []
  }

  /// Of everything in it.
  func checksum() throws -> UInt32 {
    var checksum = Checksum()
    for (table, order) in [(tables.table, "id"), (tables.column, "tbl, id")] {
      let rows = try Row.fetchCursor(db, sql: "SELECT * FROM \(table) ORDER BY \(order)")
      while let row = try rows.next() {
        for value in row.databaseValues { checksum.add(Array("\(value)\u{0}".utf8)) }
      }
    }
    return checksum.value
  }

  func register(_ inspected: TableShape) throws -> Change {
    var shape = inspected
    let key = shape.catalogueKey
    let known = try Row.fetchOne(
      db, sql: "SELECT id, key, deletes, is_synced FROM \(tables.table) WHERE name = ?",
      arguments: [shape.name])
    var wasSynced = false
    if let known {
      guard known["key"] == key else {
        throw SchemaError(
          .changedKey, table: shape.name,
          "its primary key is not the one that its rows were synced under; keep the key, or give "
            + "the new table a new name. A key column that was renamed belongs in "
            + "formerColumnNames")
      }
      guard known["deletes"] == Int(shape.deletes.kind.rawValue) else {
        let kind = DeleteRule.Kind(rawValue: known["deletes"])
        throw SchemaError(
          .changedRule, table: shape.name,
          "its deletes were merged by \(kind.map { ".\(DeleteRule($0))" } ?? "a newer rule"); keep "
            + "that rule, or give the new table a new name")
      }
      shape.id = known["id"]
      wasSynced = known["is_synced"]
      if !wasSynced {
        try db.execute(
          sql: "UPDATE \(tables.table) SET is_synced = 1 WHERE id = ?", arguments: [shape.id])
      }
    } else {
      if let former = try formerName(of: shape) {
        throw SchemaError(
          .renamedTable, table: shape.name,
          "it has rows of “\(former)”, which was synced and is gone; if it was renamed, say so: "
            + "formerNames: [\"\(former)\"]. If it is another table, give its rows other keys, or open "
            + "the replica once with neither in the schema")
      }
      try db.execute(
        sql: "INSERT INTO \(tables.table) (name, key, deletes, is_synced) VALUES (?, ?, ?, 1)",
        arguments: [shape.name, key, Int(shape.deletes.kind.rawValue)])
      shape.id = db.lastInsertedRowID
    }
    let new = try registerColumns(of: &shape)
    let texts = shape.columns.filter { $0.rule == .text && new.contains($0.id) }
    return Change(shape: shape, isNewTable: !wasSynced, newTexts: texts)
  }

  /// The synced table that is not in the database any more, and whose key, columns and rows this
  /// one has.
  private func formerName(of shape: TableShape) throws -> String? {
    let gone = try Row.fetchAll(
      db,
      sql: """
        SELECT id, name FROM \(tables.table) WHERE is_synced AND key = ? AND name NOT IN (
          SELECT name COLLATE NOCASE FROM main.sqlite_master WHERE type = 'table') ORDER BY id
        """, arguments: [shape.catalogueKey])
    return try gone.first { table in
      let columns = try String.fetchAll(
        db, sql: "SELECT name FROM \(tables.column) WHERE tbl = ? AND is_present",
        arguments: [table["id"] as Int64])
      return try !columns.isEmpty && columns.allSatisfy(shape.has)
        && hasRows(of: table["id"], shape)
    }?["name"]
  }

  private func hasRows(of table: Int64, _ shape: TableShape) throws -> Bool {
    // As they are stored: a column's affinity would keep the states' index from being used.
    let matches = shape.keyColumns.enumerated().map { "r.k\($0) = +t.\($1.quoted)" }
    return try Bool.fetchOne(
      db,
      sql: """
        SELECT EXISTS (SELECT 1 FROM \(shape.qualifiedName) AS t WHERE EXISTS (
          SELECT 1 FROM \(tables.rows(of: table)) AS r
          WHERE \(matches.joined(separator: " AND "))))
        """)!
  }

  /// Gives a table and its columns the names that they have by now, before they are looked at.
  func takeRenames(of declared: SyncTable) throws {
    for former in try formerNames(of: declared) { try renameTable(former, to: declared) }
    if declared.formerColumnNames.isEmpty { return }
    let known = try Row.fetchOne(
      db, sql: "SELECT id, key FROM \(tables.table) WHERE name = ?", arguments: [declared.name])
    guard let known else { return }
    let columns = try Row.fetchAll(
      db, sql: "SELECT name, pk FROM pragma_table_xinfo(?, 'main')", arguments: [declared.name])
    let names = columns.map { $0["name"] as String }
    let present = Set(names.map(\.folded))
    for name in names {
      for former in declared.formerNames(of: name) where !present.contains(former.folded) {
        try rename(former, to: name, of: known["id"])
      }
    }
    let keys = columns.filter { $0["pk"] > 0 }.map { $0["name"] as String }
    let key = TableShape.keyColumns(known["key"]).map { column in
      if keys.contains(where: { $0.folded == column.folded }) { return column }
      return keys.first {
        declared.formerNames(of: $0).contains { $0.folded == column.folded }
      } ?? column
    }
    // Opening again what is as it was writes nothing.
    if TableShape.catalogueKey(key) == known["key"] { return }
    try db.execute(
      sql: "UPDATE \(tables.table) SET key = ? WHERE id = ?",
      arguments: [TableShape.catalogueKey(key), known["id"] as Int64])
  }

  /// Those from which it may get its number. A schema that did not say so gave it one of its own
  /// where the table was empty, and there it goes on with that.
  private func formerNames(of declared: SyncTable) throws -> [String] {
    if declared.formerNames.isEmpty { return [] }
    let synced = Set(
      try String.fetchAll(db, sql: "SELECT name FROM \(tables.table) WHERE is_synced")
        .map(\.folded))
    let isSynced = ([declared.name] + declared.formerNames).contains { synced.contains($0.folded) }
    return declared.formerNames.filter { !isSynced || synced.contains($0.folded) }
  }

  private func renameTable(_ former: String, to declared: SyncTable) throws {
    let name = declared.name
    let known = try InstalledTable.all(db, tables)
    // It never was here, or was renamed before.
    guard let table = known.first(where: { $0.name.folded == former.folded }) else { return }
    guard try !table.stands(db) else {
      throw SchemaError(
        .renamedTable, table: name,
        "“\(former)”, which it was renamed from as the schema says, is there with its key and columns; "
          + "rename it in a migration, or, if that is another table by now, give that one another "
          + "name. Take it out of formerNames only if this table has none of its rows")
    }
    guard !known.contains(where: { $0.name.folded == name.folded }) else {
      throw SchemaError(
        .renamedTable, table: name,
        "“\(former)” can't become it, as another table of this name was synced before; rename it to "
          + "what no table was called")
    }
    try db.execute(
      sql: "UPDATE \(tables.table) SET name = ? WHERE name = ?", arguments: [name, former])
  }

  private func rename(_ former: String, to name: String, of table: Int64) throws {
    try db.execute(
      sql: """
        UPDATE \(tables.column) SET name = ?1 WHERE tbl = ?2 AND name = ?3
        AND NOT EXISTS (SELECT 1 FROM \(tables.column) WHERE tbl = ?2 AND name = ?1)
        """, arguments: [name, table, former])
  }

  /// - Returns: the ids of columns that were not known.
  private func registerColumns(of shape: inout TableShape) throws -> Set<Int> {
    for column in shape.columns {
      for former in column.formerNames where !shape.has(former) {
        try rename(former, to: column.name, of: shape.id)
      }
    }
    let rows = try Row.fetchAll(
      db, sql: "SELECT id, name, rule, is_present FROM \(tables.column) WHERE tbl = ? ORDER BY id",
      arguments: [shape.id])
    var rules = try rows.map { row in
      guard let kind = MergeRule.Kind(rawValue: row["rule"]) else {
        throw SchemaError(
          .newerFormat, table: shape.name, column: row["name"],
          "a newer Tern gave it a rule that "
            + "this one does not know; update the app")
      }
      return MergeRule(kind)
    }
    for row in rows where row["is_present"] && !shape.has(row["name"]) {
      try db.execute(
        sql: "UPDATE \(tables.column) SET is_present = 0 WHERE tbl = ? AND id = ?",
        arguments: [shape.id, row["id"] as Int])
    }
    for index in shape.columns.indices {
      let column = shape.columns[index]
      let row = rows.first { ($0["name"] as String).folded == column.name.folded }
      if let row {
        let id: Int = row["id"]
        guard rules[id] == column.rule else {
          let fill = column.rule == .counter ? ", and fill it through the replica, once" : ""
          throw SchemaError(
            .changedRule, table: shape.name, column: column.name,
            "its rows were merged by "
              + ".\(rules[id]); keep that rule, or add a new column for the new one\(fill)")
        }
        shape.columns[index].id = id
        // Opening again what is as it was writes nothing.
        if row["is_present"], row["name"] == column.name { continue }
      } else {
        shape.columns[index].id = rules.count
        rules.append(column.rule)
      }
      try db.execute(
        sql: """
          INSERT INTO \(tables.column) (tbl, id, name, rule, is_present) VALUES (?, ?, ?, ?, 1)
          ON CONFLICT DO UPDATE SET is_present = 1, name = excluded.name
          """,
        arguments: [
          shape.id, shape.columns[index].id, column.name, Int(column.rule.kind.rawValue),
        ])
    }
    shape.rules = rules
    return Set(rows.count..<rules.count)
  }
}

/// The catalogue that a store works by, SQLite's number of the schema that had it, and whether any
/// table in that has a foreign key.
struct KnownCatalogue {
  let checksum: UInt32
  let schemaVersion: Int64
  let hasForeignKeys: Bool
  let localReferences: LocalReferences
  /// SQLite's number for the commits of other connections.
  let dataVersion: Int64

  /// - Parameter sql: the synced tables.
  init(_ db: Database, _ tables: StoreTables, _ sql: [TableSQL]) throws {
    checksum = try Catalogue(db: db, tables: tables).checksum()
    schemaVersion = try Int64.fetchOne(db, sql: "PRAGMA main.schema_version") ?? 0
    hasForeignKeys = try db.hasForeignKeys()
    localReferences = hasForeignKeys ? try LocalReferences(db, sql, tables) : .none
    dataVersion = try Int64.fetchOne(db, sql: "PRAGMA main.data_version") ?? 0
  }
}

extension Database {
  /// Whether any table of the app's has one.
  func hasForeignKeys() throws -> Bool {
    try Row.fetchOne(
      self,
      sql: """
        SELECT 1 FROM main.sqlite_master AS t, pragma_foreign_key_list(t.name, 'main')
        WHERE t.type = 'table' AND substr(t.name, 1, 10) <> 'grdb_tern_' LIMIT 1
        """) != nil
  }
}
