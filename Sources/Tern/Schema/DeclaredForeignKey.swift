import GRDB

/// A foreign key as a table declares it, whether its parent is there or not.
struct DeclaredForeignKey {
  /// SQLite's number of it in its table.
  let id: Int
  let columns: [String]
  let parent: String
  /// The columns that it names; `nil` for the parent's primary key.
  let named: [String]?
  /// What is declared for children of a parent that is deleted, in SQLite's words.
  let onDelete: String
  /// The same for children of one whose columns change.
  let onUpdate: String

  /// The tables that have foreign keys.
  static func tables(_ db: Database) throws -> [String] {
    try String.fetchAll(
      db,
      sql: """
        SELECT t.name FROM main.sqlite_master AS t WHERE t.type = 'table'
        AND EXISTS (SELECT 1 FROM pragma_foreign_key_list(t.name, 'main')) ORDER BY t.name
        """)
  }

  /// By their number.
  static func all(of table: String, _ db: Database) throws -> [DeclaredForeignKey] {
    let rows = try Row.fetchAll(
      db, sql: "SELECT * FROM pragma_foreign_key_list(?, 'main') ORDER BY id, seq",
      arguments: [table])
    return Dictionary(grouping: rows) { $0["id"] as Int }.sorted { $0.key < $1.key }.map {
      let named = $0.value.compactMap { $0["to"] as String? }
      return DeclaredForeignKey(
        id: $0.key, columns: $0.value.map { $0["from"] }, parent: $0.value[0]["table"],
        named: named.isEmpty ? nil : named, onDelete: $0.value[0]["on_delete"],
        onUpdate: $0.value[0]["on_update"])
    }
  }

  /// The parent's columns that it refers to; `nil` where the parent has them not, or is not there.
  func parentColumns(_ db: Database) throws -> [String]? {
    let all = try Row.fetchAll(
      db, sql: "SELECT name, pk FROM pragma_table_xinfo(?, 'main') ORDER BY pk",
      arguments: [parent])
    let present = Set(all.map { ($0["name"] as String).folded })
    let key = all.filter { ($0["pk"] as Int) > 0 }.map { $0["name"] as String }
    let wanted = named ?? key
    guard wanted.count == columns.count, wanted.allSatisfy({ present.contains($0.folded) }) else {
      return nil
    }
    return wanted
  }
}
