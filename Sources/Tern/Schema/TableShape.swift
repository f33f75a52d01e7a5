import GRDB
import TernCore

/// A synced table as it stands in the database, checked.
package struct TableShape: Hashable, Sendable {
  /// The table's number in the catalogue: stable, and part of the names of its own tables.
  package var id: Int64
  package var name: String
  /// The names that migrations took from it: peers before those migrations still use them.
  package var formerNames: [String] = []
  package var deletes: DeleteRule
  /// In the order of the primary key.
  package var keyColumns: [String]
  /// Of the key columns, in the same order, the names that migrations took from them.
  package var formerKeyNames: [[String]]
  /// Of the key columns, in the same order.
  package var keyAffinities: [Affinity]
  /// Columns that travel, in the table's order.
  package var columns: [Column]
  /// Columns that stay on this device, but for the ``pointer``.
  package var localColumns: [String]
  /// The column by which rows are folded that lose in UNIQUE: it says into which.
  package var pointer: String?
  /// By folded name, columns that make no inbox entry by themselves.
  package var automaticColumns: Set<String> = []
  /// The rule of every column that ever travelled, by catalogue id.
  package var rules: [MergeRule]
  package var foreignKeys: [ForeignKey]
  /// UNIQUE constraints and indexes that rows with different keys can collide in.
  package var uniques: [Unique] = []
  /// Of rows that refer to one of it, do not sync, and say by themselves nothing of its delete.
  package var unsyncedChildren: Database.ForeignKeyAction?
  /// By which SQL names the rowid; `nil` where there is none, or columns have all its names.
  package var rowIDName: String?

  package struct Column: Hashable, Sendable {
    package var name: String
    /// The column's number in the catalogue: stable over renames, never given again.
    package var id: Int
    package var rule: MergeRule
    /// Whether SQLite may hold equal numbers of different type in it.
    package var holdsLookalikes: Bool
    /// The names that migrations took from it: peers before those migrations still use them.
    package var formerNames: [String] = []
  }

  package struct ForeignKey: Hashable, Sendable {
    package var columns: [String]
    package var parent: String
    package var parentColumns: [String]
    /// Of the columns.
    package var affinities: [Affinity]
    /// Which of the columns travel.
    package var travels: [Bool]
    /// What is declared for children of a parent that is deleted, in SQLite's words.
    package var onDelete = "NO ACTION"
  }

  /// Whether the latest write stands in every column and none was ever dropped, and no write has to
  /// be known by its author: then a row that begins with an insert has no cells.
  package var isPlain: Bool {
    deletes != .updateWins && columns.count == rules.count && rules.allSatisfy(\.isLastWriter)
  }

  /// Whether a column makes no inbox entry by itself.
  package func isAutomatic(_ column: String) -> Bool {
    !automaticColumns.isEmpty && automaticColumns.contains(column.folded)
  }

  /// How many integers hold a bit for every column. A column's bit is its catalogue id, so that a
  /// note means the same after columns were added, dropped or put in another order.
  package var maskCount: Int {
    Swift.max(1, (rules.count + TableShape.maskBits - 1) / TableShape.maskBits)
  }
  package static let maskBits = 62

  /// Its name in SQL, which no temporary or attached table of the same name takes over.
  package var qualifiedName: String { "main." + name.quoted }

  /// The key as the catalogue compares it.
  package var catalogueKey: String { Self.catalogueKey(keyColumns) }

  static func catalogueKey(_ columns: [String]) -> String {
    columns.map(\.folded).joined(separator: "\u{1F}")
  }

  /// The columns of a key as the catalogue has it.
  static func keyColumns(_ catalogueKey: String) -> [String] {
    catalogueKey.split(separator: "\u{1F}").map(String.init)
  }

  /// The names of the key's columns, those before too.
  package var keyNames: [String] { keyColumns + formerKeyNames.joined() }

  /// Whether these are the key's columns, by the names of today or those before.
  package func isKeyed(by names: [String]) -> Bool {
    guard names.count == keyColumns.count else { return false }
    return names.indices.allSatisfy { index in
      let name = names[index].folded
      return keyColumns[index].folded == name
        || formerKeyNames[index].contains { $0.folded == name }
    }
  }

  /// Whether an operation that names a table so means this one.
  package func isNamed(_ other: String) -> Bool {
    let other = other.folded
    if name.folded == other { return true }
    if Planted.isActive(.formerNameForgotten) { return false }
    return formerNames.contains { $0.folded == other }
  }

  package var block: BodyBlock {
    BodyBlock(
      table: name, deletes: deletes.kind.rawValue, keyColumns: keyColumns,
      columns: columns.map { .init(name: $0.name, rule: $0.rule.kind.rawValue) })
  }
}

extension String {
  /// An SQL identifier in quotes.
  package var quoted: String {
    // Most have none, and looking for one costs as much as a row.
    utf8.contains(UInt8(ascii: "\""))
      ? "\"" + replacing("\"", with: "\"\"") + "\"" : "\"\(self)\""
  }
}
