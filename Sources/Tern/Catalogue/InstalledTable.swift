import GRDB
import TernCore

/// A table that the catalogue knows, as the replica was last opened with it: what can be read of a
/// database without the app's schema.
struct InstalledTable {
  let id: Int64
  let name: String
  let key: String
  /// As stored: a newer Tern may know more.
  let deletes: Int
  let isSynced: Bool
  /// By their id; names as they were registered last.
  let columns: [Column]

  struct Column {
    let id: Int
    let name: String
    let rule: Int
    let isPresent: Bool
  }

  static func all(_ db: Database, _ tables: StoreTables) throws -> [InstalledTable] {
    try Row.fetchAll(
      db, sql: "SELECT id, name, key, deletes, is_synced FROM \(tables.table) ORDER BY id"
    ).map { row in
      let columns = try Row.fetchAll(
        db,
        sql: "SELECT id, name, rule, is_present FROM \(tables.column) WHERE tbl = ? ORDER BY id",
        arguments: [row["id"] as Int64])
      return InstalledTable(
        id: row["id"], name: row["name"], key: row["key"], deletes: row["deletes"],
        isSynced: row["is_synced"],
        columns: columns.map {
          Column(id: $0["id"], name: $0["name"], rule: $0["rule"], isPresent: $0["is_present"])
        })
    }
  }

  /// The statements of those that sync, as far as the tables still fit.
  ///
  /// - Parameter isUnfit: told of a table that is gone or cannot sync any more.
  static func statements(
    _ db: Database, _ tables: StoreTables,
    _ isUnfit: (InstalledTable, SchemaError) throws -> Void = { _, _ in }
  ) throws -> [TableSQL] {
    try all(db, tables).filter(\.isSynced).compactMap { installed in
      do {
        return try installed.sql(db, prefix: tables.prefix)
      } catch let error as SchemaError {
        try isUnfit(installed, error)
        return nil
      }
    }
  }

  /// Whether a table of its name has the key and the columns that it synced with.
  func stands(_ db: Database) throws -> Bool {
    let all = try Row.fetchAll(
      db, sql: "SELECT name, pk FROM pragma_table_xinfo(?, 'main') ORDER BY pk", arguments: [name])
    let present = Set(all.map { ($0["name"] as String).folded })
    let keyColumns = all.filter { ($0["pk"] as Int) > 0 }.map { $0["name"] as String }
    return TableShape.catalogueKey(keyColumns) == key
      && columns.allSatisfy { !$0.isPresent || present.contains($0.name.folded) }
  }

  /// The statements of the table as it stands now, as far as it still fits; `nil` where its key is
  /// another, or a column is in no catalogue.
  ///
  /// - Throws: ``SchemaError`` where the table is gone, or cannot sync any more.
  func sql(_ db: Database, prefix: String) throws -> TableSQL? {
    let all = try Row.fetchAll(
      db, sql: "SELECT name, pk, hidden FROM pragma_table_xinfo(?, 'main')", arguments: [name])
    let local = Set(
      all.filter { $0["pk"] == 0 }.map { $0["name"] as String }
        .filter { name in !columns.contains { $0.isPresent && $0.name.folded == name.folded } })
    let rules = columns.map { MergeRule(.init(rawValue: UInt8(clamping: $0.rule)) ?? .lastWriter) }
    let merge = zip(columns, rules).filter { $0.isPresent && $1 != .lastWriter }
    var declared = SyncTable(
      name, merge: Dictionary(merge.map { ($0.name, $1) }, uniquingKeysWith: { first, _ in first }),
      deletes: DeleteRule(.init(rawValue: UInt8(clamping: deletes)) ?? .deleteWins), local: local)
    if let pointer = try TableInspection(db: db, declared: declared).pointer(among: local) {
      declared.collisions = .fold(into: pointer)
    }
    var shape = try TableInspection(db: db, declared: declared, isInstalled: true).shape()
    guard shape.catalogueKey == key else { return nil }
    shape.id = id
    shape.rules = rules
    for index in shape.columns.indices {
      let name = shape.columns[index].name.folded
      guard let found = columns.firstIndex(where: { $0.name.folded == name }) else { return nil }
      shape.columns[index].id = found
    }
    return TableSQL(shape: shape, prefix: prefix)
  }
}
