import GRDB
import TernCore

/// A table that a re-keying may have to build again, as SQLite tells of it.
struct RekeyedTable {
  /// As it was declared.
  let name: String
  let columns: [Column]
  let isWithoutRowID: Bool
  let foreignKeys: [ForeignKey]

  struct Column: Hashable {
    let name: String
    let type: String
    let isNotNull: Bool
    let defaultValue: String?
    let keyIndex: Int
    /// 0 for an ordinary one, 2 and 3 for generated ones.
    let hidden: Int

    var isGenerated: Bool { hidden != 0 }
  }

  struct ForeignKey: Hashable {
    let parent: String
    /// Names as declared; the parent's are empty where the key is meant without its name.
    let columns: [String]
    let parentColumns: [String]
    let actions: [String]
  }

  /// - Returns: `nil` when there is no such object.
  init?(_ db: Database, _ table: String) throws {
    let row = try Row.fetchOne(
      db, sql: "SELECT name, type, wr FROM pragma_table_list(?) WHERE schema = 'main'",
      arguments: [table])
    guard let row else { return nil }
    name = row["name"]
    guard row["type"] == "table", !name.folded.hasPrefix("sqlite_"),
      !name.folded.hasPrefix(StoreTables.commonPrefix)
    else {
      throw RekeyError(
        .notATable, table: name,
        "only the app's ordinary tables have keys to replace; name the table behind it")
    }
    isWithoutRowID = row["wr"]
    columns = try Row.fetchAll(
      db, sql: "SELECT * FROM pragma_table_xinfo(?, 'main')", arguments: [name]
    ).map { row in
      Column(
        name: row["name"], type: row["type"], isNotNull: row["notnull"],
        defaultValue: row["dflt_value"], keyIndex: row["pk"], hidden: row["hidden"])
    }
    let references = try Row.fetchAll(
      db, sql: "SELECT * FROM pragma_foreign_key_list(?, 'main') ORDER BY id, seq",
      arguments: [name])
    foreignKeys = Dictionary(grouping: references) { $0["id"] as Int }.sorted { $0.key < $1.key }
      .map { _, rows in
        ForeignKey(
          parent: rows[0]["table"], columns: rows.map { $0["from"] },
          parentColumns: rows.compactMap { $0["to"] as String? },
          actions: [rows[0]["on_update"], rows[0]["on_delete"], rows[0]["match"]])
      }
  }

  func column(_ name: String) -> Column? {
    columns.first { $0.name.folded == name.folded }
  }

  var keyColumns: [Column] {
    columns.filter { $0.keyIndex > 0 }.sorted { $0.keyIndex < $1.keyIndex }
  }

  /// The column that is the key alone, if it holds integers.
  var integerKey: Column? {
    let key = keyColumns
    return key.count == 1 && Affinity(key[0].type) == .integer ? key[0] : nil
  }

  /// The name by which the rowid can be spoken of; `nil` where columns took all of them.
  var rowIDName: String? {
    if isWithoutRowID { return nil }
    return ["rowid", "_rowid_", "oid"].first { column($0) == nil }
  }

  /// Names of columns and the names of those that they refer to, of one foreign key.
  func pairs(_ foreignKey: ForeignKey, _ parent: RekeyedTable) -> [(child: String, parent: String)]
  {
    let named =
      foreignKey.parentColumns.count == foreignKey.columns.count
      ? foreignKey.parentColumns : parent.keyColumns.map(\.name)
    return Array(zip(foreignKey.columns, named))
  }
}
