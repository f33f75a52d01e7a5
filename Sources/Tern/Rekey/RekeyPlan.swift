import GRDB
import TernCore

/// Which columns of which tables hold keys of the table that is re-keyed, checked.
struct RekeyPlan {
  let storage: RekeyStorage
  /// The re-keyed table first.
  private(set) var tables: [RekeyedTable] = []
  /// Columns that hold its keys, by folded names.
  private(set) var rewritten: [String: Set<String>] = [:]
  /// The key that is added, where there is none.
  let addedKey: String?

  var root: RekeyedTable { tables[0] }
  /// The column that holds the numbers now; `nil` where the rowid does.
  var key: RekeyedTable.Column? { root.integerKey }

  init(
    _ db: Database, table: String, addedKey: String, storage: RekeyStorage,
    references: [RekeyedColumn]
  ) throws {
    self.storage = storage
    guard let root = try RekeyedTable(db, table) else {
      throw RekeyError(
        .missingTable, table: table,
        "the database has no such table; re-key it after it was created, or correct the name")
    }
    self.addedKey = root.keyColumns.isEmpty ? addedKey : nil
    tables = [root]
    rewritten[root.name.folded] = []
    try checkKey(of: root, addedKey)
    if let key = root.integerKey { rewritten[root.name.folded] = [key.name.folded] }
    let others = try String.fetchAll(
      db,
      sql: """
        SELECT name FROM pragma_table_list
        WHERE schema = 'main' AND type = 'table' AND name <> ?
        AND name NOT LIKE 'sqlite~_%' ESCAPE '~' AND name NOT LIKE ? ESCAPE '~' ORDER BY name
        """,
      arguments: [root.name, StoreTables.commonPrefix.replacing("_", with: "~_") + "%"]
    ).compactMap { try RekeyedTable(db, $0) }
    let all = [root] + others
    try add(references, among: all)
    while try follow(among: all) {}
    tables += others.filter { rewritten[$0.name.folded] != nil }
    for table in tables {
      try checkReferences(of: table, among: all)
      try checkNotSynced(db, table)
      try checkSearch(db, table)
    }
    try checkTriggers(db)
  }

  /// Whether a column holds keys of the re-keyed table.
  func isRewritten(_ table: RekeyedTable, _ column: String) -> Bool {
    rewritten[table.name.folded]?.contains(column.folded) ?? false
  }

  /// Whether the column is the whole key of its table, which is not an integer then any more.
  func isKey(_ table: RekeyedTable, _ column: RekeyedTable.Column) -> Bool {
    isRewritten(table, column.name) && table.integerKey?.name == column.name
  }

  private func checkKey(of root: RekeyedTable, _ addedKey: String) throws {
    if root.keyColumns.isEmpty {
      guard root.column(addedKey) == nil else {
        throw RekeyError(
          .columnExists, table: root.name, column: addedKey,
          "the table has no primary key, and the one that it would get has the name of a column; "
            + "name another with addedKey:")
      }
      guard root.rowIDName != nil else {
        throw RekeyError(
          .noIntegerKey, table: root.name,
          "its columns take all names of the rowid; rename one of rowid, oid and _rowid_ first")
      }
      return
    }
    guard root.integerKey != nil else {
      let names = root.keyColumns.map(\.name).joined(separator: ", ")
      let types = root.keyColumns.map(\.type).joined(separator: ", ")
      throw RekeyError(
        .noIntegerKey, table: root.name,
        "its primary key (\(names)) is of type \(types) and not one integer: there is nothing to "
          + "re-key, or it has been done; take the call out of the migration")
    }
  }

  private mutating func add(_ references: [RekeyedColumn], among all: [RekeyedTable]) throws {
    for reference in references {
      guard let table = all.first(where: { $0.name.folded == reference.table.folded }) else {
        throw RekeyError(
          .missingTable, table: reference.table,
          "the database has no such table that could refer to “\(root.name)”; correct the name")
      }
      guard table.column(reference.column) != nil else {
        throw RekeyError(
          .unknownColumn, table: table.name, column: reference.column,
          "the table has no such column that could refer to “\(root.name)”; correct the name")
      }
      rewritten[table.name.folded, default: []].insert(reference.column.folded)
    }
  }

  /// Adds the columns that refer to those that are known.
  ///
  /// - Returns: whether there were any.
  private mutating func follow(among all: [RekeyedTable]) throws -> Bool {
    var isMore = false
    for table in all {
      for foreignKey in table.foreignKeys {
        let parent = all.first { $0.name.folded == foreignKey.parent.folded }
        guard let parent, let known = rewritten[parent.name.folded] else { continue }
        for pair in table.pairs(foreignKey, parent) where known.contains(pair.parent.folded) {
          let inserted = rewritten[table.name.folded, default: []].insert(pair.child.folded)
          isMore = inserted.inserted || isMore
        }
      }
    }
    return isMore
  }

  /// A column cannot hold an identifier for one parent and a number for another.
  private func checkReferences(of table: RekeyedTable, among all: [RekeyedTable]) throws {
    for column in table.columns where isRewritten(table, column.name) {
      if column.isGenerated {
        throw RekeyError(
          .generatedReference, table: table.name, column: column.name,
          "it is computed and refers to “\(root.name)”; make it an ordinary column first")
      }
      if let value = column.defaultValue, value.folded != "null", !isKey(table, column) {
        throw RekeyError(
          .referenceDefault, table: table.name, column: column.name,
          "it refers to “\(root.name)” and has the default \(value), which would name no row; take "
            + "the default away first")
      }
    }
    for foreignKey in table.foreignKeys {
      guard let parent = all.first(where: { $0.name.folded == foreignKey.parent.folded }) else {
        continue
      }
      for pair in table.pairs(foreignKey, parent)
      where isRewritten(table, pair.child) && !isRewritten(parent, pair.parent) {
        if table.name == root.name, pair.child.folded == key?.name.folded {
          throw RekeyError(
            .keyIsReference, table: table.name, column: pair.child,
            "its key refers to “\(parent.name)”; re-key that one, and this one follows")
        }
        throw RekeyError(
          .otherReference, table: table.name, column: pair.child,
          "it refers to “\(root.name)” and to “\(parent.name)”, whose keys stay numbers; split it "
            + "into two columns first")
      }
    }
  }

  private func checkNotSynced(_ db: Database, _ table: RekeyedTable) throws {
    let catalogues = try String.fetchAll(
      db, sql: "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name GLOB ?",
      arguments: [StoreTables.commonPrefix + "*_table"])
    for catalogue in catalogues {
      let isSynced = try Bool.fetchOne(
        db,
        sql: "SELECT 1 FROM main.\(catalogue.quoted) WHERE is_synced AND name = ? COLLATE NOCASE",
        arguments: [table.name])
      guard isSynced == nil else {
        throw RekeyError(
          .synced, table: table.name,
          table.name == root.name
            ? "it syncs already, and other devices know its rows by their keys; make a new table "
              + "with a new name"
            : "it syncs already and refers to “\(root.name)”, and other devices would keep the "
              + "numbers; add a new column for the identifiers, and fill it through the replica")
      }
    }
  }

  private func checkSearch(_ db: Database, _ table: RekeyedTable) throws {
    guard !table.isWithoutRowID, let key = table.integerKey, isRewritten(table, key.name) else {
      return
    }
    let searches = try Row.fetchAll(
      db,
      sql: """
        SELECT name, sql FROM main.sqlite_master
        WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%' ORDER BY name
        """)
    for search in searches
    where SQLText(search["sql"] as String).argument("content")?.folded == table.name.folded {
      throw RekeyError(
        .contentOfSearch, table: table.name, column: key.name,
        "the full-text table “\(search["name"] as String)” finds its rows by this number; drop it "
          + "with its triggers before, and afterwards make one with content of its own and the key "
          + "as an UNINDEXED column")
    }
  }
}
