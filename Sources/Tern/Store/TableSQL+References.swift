import GRDB
import TernCore

extension TableSQL {
  /// The keys of rows that lack a parent.
  func orphans(_ foreignKey: TableShape.ForeignKey) -> String {
    let key = shape.keyColumns.map { "c.\($0.quoted)" }
    return "SELECT \(key.joined(separator: ", ")) FROM \(shape.qualifiedName) AS c "
      + "WHERE \(foreignKey.lacksParent)"
  }

  /// Yields the keys of the rows that refer to the parent with the bound key; `nil` where they do
  /// not refer to its primary key, or hold other values than that, which SQLite converts.
  func children(_ foreignKey: TableShape.ForeignKey, of parent: TableShape) -> String? {
    var matches: [String] = []
    for (place, parentColumn) in foreignKey.parentColumns.enumerated() {
      let index = parent.keyColumns.firstIndex { $0.folded == parentColumn.folded }
      guard let index, foreignKey.affinities[place] == parent.keyAffinities[index] else {
        return nil
      }
      matches.append("\(foreignKey.columns[place].quoted) = ?\(index + 1)")
    }
    return "SELECT \(shape.keyColumns.map(\.quoted).joined(separator: ", ")) "
      + "FROM \(shape.qualifiedName) WHERE \(matches.joined(separator: " AND "))"
  }
}

extension [TableSQL] {
  /// Whether a change of the parent's row can leave a child that SQLite took for one before. Keys
  /// do not change: what was there goes, and another comes.
  func isConverted(_ foreignKey: TableShape.ForeignKey) -> Bool {
    guard foreignKey.affinities.contains(.blob), let parent = parent(of: foreignKey) else {
      return false
    }
    let keys = parent.keyColumns.map(\.folded)
    return !foreignKey.parentColumns.allSatisfy { keys.contains($0.folded) }
  }

  func parent(of foreignKey: TableShape.ForeignKey) -> TableShape? {
    first { $0.shape.name.folded == foreignKey.parent.folded }?.shape
  }
}

extension TableShape.ForeignKey {
  /// The condition that row `c` refers to a parent which is not in its table.
  var lacksParent: String {
    let present = columns.map { "c.\($0.quoted) IS NOT NULL" }
    // The sign lets the parent's type alone convert, as it does for SQLite's own foreign keys.
    let match = zip(parentColumns, columns).map { "p.\($0.quoted) = +c.\($1.quoted)" }
    return "\(present.joined(separator: " AND ")) AND NOT EXISTS (SELECT 1 FROM "
      + "main.\(parent.quoted) AS p WHERE \(match.joined(separator: " AND ")))"
  }

  /// Whether equal values are equal bytes, and name the parent by its key.
  func isExact(_ parent: TableShape) -> Bool {
    guard Set(parentColumns.map(\.folded)) == Set(parent.keyColumns.map(\.folded)) else {
      return false
    }
    if travels.contains(false) { return false }
    return zip(parentColumns, affinities).allSatisfy { name, affinity in
      let index = parent.keyColumns.firstIndex { $0.folded == name.folded }!
      return affinity == parent.keyAffinities[index]
    }
  }

  /// The key of the parent of a row with these values; `nil` where no key says which it is.
  func key(of parent: TableShape, _ values: [String: SQLiteValue]) -> [UInt8]? {
    isExact(parent) ? parent.packed(valuesByParent(values)) : nil
  }

  /// What a row with these values holds of its parent's columns.
  func valuesByParent(_ values: [String: SQLiteValue]) -> [String: SQLiteValue] {
    Dictionary(
      zip(parentColumns.map(\.folded), columns.map { values[$0.folded] ?? .null }),
      uniquingKeysWith: { $1 })
  }
}

extension TableShape {
  /// A key of these values, by folded name.
  func packed(_ values: [String: SQLiteValue]) -> [UInt8] {
    PackedKey.bytes(of: keyColumns.map { values[$0.folded] ?? .null })
  }
}

// MARK: - Parents that are deleted

extension TableShape {
  /// Whether a child stays without its parent, as it was declared: not where its key says which.
  func isReleased(_ foreignKey: ForeignKey) -> Bool {
    let keys = Set(keyColumns.map(\.folded))
    return ["SET NULL", "SET DEFAULT"].contains(foreignKey.onDelete)
      && keys.isDisjoint(with: foreignKey.columns.map(\.folded))
  }

  /// What ON DELETE SET NULL or SET DEFAULT puts into the columns of a reference.
  func released(_ foreignKey: ForeignKey, _ db: Database) throws -> [String: SQLiteValue] {
    try columns(of: foreignKey).reduce(into: [:]) { values, column in
      values[column] =
        foreignKey.onDelete == "SET DEFAULT"
        ? try db.declaredDefault(of: column, in: name) : .null
    }
  }

  /// As the table spells them.
  func columns(of foreignKey: ForeignKey) -> [String] {
    let names = Set(foreignKey.columns.map(\.folded))
    return (columns.map(\.name) + localColumns).filter { names.contains($0.folded) }
  }
}
