import TernTesting

/// Tables whose rows fold when they collide.
extension DrawnSchema.Table {
  var pointer: DrawnSchema.Column? { columns.first(where: \.isPointer) }

  /// Whether its rows can collide, and one column can name one of them.
  var mayFold: Bool {
    keys.count == 1 && pointer == nil && collides
  }

  /// Whether two rows with different keys can collide.
  private var collides: Bool {
    columns.contains(where: \.isUnique) || uniques.contains { !$0.isOver(key: keys[0].id) }
  }

  /// Without a UNIQUE index no row folds, and `open` refuses to say so.
  ///
  /// - Returns: whether the table lost its pointer by that.
  mutating func forgetIdlePointer() -> Bool {
    guard pointer != nil, !collides else { return false }
    columns.removeAll(where: \.isPointer)
    return true
  }

  /// Of the UNIQUE indexes in which its rows collide.
  var uniqueNames: [String] {
    columns.filter(\.isUnique).map(DrawnSchema.indexName) + uniques.map(\.indexName)
  }
}

extension DrawnSchema {
  mutating func addPointer(to table: inout Table) {
    let key = table.keys[0]
    nextID += 1
    table.columns.append(
      numbered(
        Column(
          name: "same\(nextID) As", type: key.type, isLocal: true, isPointer: true,
          // An app that copies a row with all its columns writes another.
          values: ["NULL", "NULL", key.values[0], key.values[1]])))
  }

  /// Rows that were quarantined are folded from then on.
  mutating func beginFolding() -> [String]? {
    guard let number = tables.firstIndex(where: \.mayFold) else { return nil }
    let dropped = tables[number].uniqueNames.map { "DROP INDEX \($0)" }
    var table = tables[number]
    addPointer(to: &table)
    tables[number] = table
    let pointer = table.pointer!
    return dropped
      + ["ALTER TABLE \(tables[number].quoted) ADD COLUMN \(pointer.quoted) \(pointer.type)"]
      + indexes(number)
  }
}
