import GRDB
import TernCore

extension TableInspection {
  /// Whether the column by which rows are folded can be Tern's alone.
  func checkPointer(_ columns: [RawColumn], _ refusals: inout SchemaRefusals) throws {
    guard let name = declared.collisions.pointer,
      let pointer = columns.first(where: {
        $0.name.folded == name.folded && $0.keyIndex == 0 && !$0.isGenerated
      })
    else { return }
    func refuse(_ message: String) throws {
      try refusals.collect { throw self.refuse(.unsupportedPointer, pointer.name, message) }
    }
    let key = columns.filter { $0.keyIndex > 0 }
    if key.count > 1 {
      try refuse(
        "rows are folded by the key of another, and this key has \(key.count) columns; give the "
          + "table a key of one column, or quarantine its collisions")
    }
    if declared.merge.keys.contains(where: { $0.folded == name.folded }) {
      try refuse("it has a merge rule, and the column by which rows are folded never merges")
    }
    let isNullable = !pointer.isNotNull && [nil, "null"].contains(pointer.defaultValue?.folded)
    let holdsKey = key.allSatisfy { pointer.affinity.keepsValues(of: $0.affinity) }
    if !isNullable || !holdsKey {
      try refuse(
        "rows are folded by it; declare it without NOT NULL and without a default, of the key's "
          + "type (\(key.map(\.type).joined(separator: ", ")))")
    }
    let isReference = try DeclaredForeignKey.all(of: declared.name, db)
      .contains { $0.columns.contains { $0.folded == name.folded } }
    if isReference {
      try refuse(
        "rows are folded by it, and a row that it points to may be deleted at any time; declare it "
          + "without a foreign key")
    }
  }

  /// Whether any row can be folded. A file says by its UNIQUE indexes alone which column it is that
  /// rows are folded by.
  func checkCollides(_ shape: TableShape, _ refusals: inout SchemaRefusals) throws {
    guard let pointer = shape.pointer, shape.uniques.isEmpty else { return }
    try refusals.collect {
      throw refuse(
        .unsupportedPointer, pointer,
        "rows are folded by it, and no UNIQUE index has two rows collide; make one beside the key "
          + "WHERE “\(pointer) IS NULL”, or take `collisions:` out of the schema")
    }
  }
}
