import TernCore
import TernDatabase

/// Which parents of rows are deleted, and what rows show whose reference says `ON DELETE SET NULL`
/// or `SET DEFAULT`.
///
/// That follows from the state alone: from the parents that are deleted, and those that such a
/// delete takes along. A parent that is only quarantined veils nothing. Nothing of it changes while
/// rows are settled.
final class DeletedParents {
  private let transaction: StoreTransaction
  private var writers: [Int64: TableWriter] = [:]
  /// By table, once that was looked up.
  private var veilableByTable: [Int64: [Veilable]] = [:]
  /// Rows that are deleted or go with one that is, and rows that are not.
  private var gone: [RowID: Bool] = [:]

  init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  private func writer(_ sql: TableSQL) throws -> TableWriter {
    if let writer = writers[sql.shape.id] { return writer }
    let writer = try TableWriter(transaction, sql, hasHeld: true)
    writers[sql.shape.id] = writer
    return writer
  }

  // MARK: - References

  /// A reference by key.
  struct Reference {
    let foreignKey: TableShape.ForeignKey
    let parent: TableSQL
    let key: [UInt8]
  }

  func references(of key: [UInt8], _ content: [String: SQLiteValue], _ shape: TableShape) throws
    -> [Reference]
  {
    let values = try shape.values(key, content)
    return shape.foreignKeys.compactMap { foreignKey in
      let named = foreignKey.valuesByParent(values)
      guard let parent = transaction.sql.parent(of: foreignKey), foreignKey.isExact(parent),
        !named.values.contains(.null),
        let sql = transaction.sql.first(where: { $0.shape.id == parent.id })
      else { return nil }
      return Reference(foreignKey: foreignKey, parent: sql, key: parent.packed(named))
    }
  }

  /// Whether a row is not in its table because it was deleted.
  func isDeleted(_ reference: Reference) throws -> Bool {
    let writer = try writer(reference.parent)
    return try writer.read(reference.key) == nil
      && writer.state(of: reference.key)?.deletion != nil
  }

  // MARK: - Veils

  /// What a row that the state has with `content` is to show instead; `nil` where it shows that.
  func veil(over content: [String: SQLiteValue], of key: [UInt8], _ sql: TableSQL) throws -> Veil? {
    let references = try veilable(sql)
    if references.isEmpty { return nil }
    let values = try sql.shape.values(key, content)
    let veiled = try references.compactMap { reference -> [Veil.Column]? in
      let named = reference.foreignKey.valuesByParent(values)
      if named.values.contains(.null) { return nil }
      let parent = RowID(table: reference.parent.id, key: reference.parent.packed(named))
      guard try isGone(parent) else { return nil }
      let columns = reference.released.map { name, shown in
        Veil.Column(name: name, held: values[name.folded] ?? .null, shown: shown)
      }
      return columns.allSatisfy { $0.held == $0.shown } ? nil : columns
    }
    return veiled.isEmpty ? nil : Veil(references: veiled)
  }

  /// For the doctor.
  func wrongVeil(on key: [UInt8], _ writer: TableWriter) throws -> String? {
    let laid = try writer.veil(of: key)
    guard let shown = try writer.readShown(key) else {
      return laid.map { _ in "the row is veiled, and is not in its table" }
    }
    let wanted = try veil(over: writer.read(key) ?? [:], of: key, writer.sql)
    if laid == wanted, laid.map({ $0.left(in: shown) == $0 }) ?? true { return nil }
    return "the row shows another reference than its deleted parents leave it"
  }

  /// A reference that can be veiled.
  private struct Veilable {
    let foreignKey: TableShape.ForeignKey
    let parent: TableShape
    /// What its columns show of a parent that is gone.
    let released: [(name: String, value: SQLiteValue)]
  }

  private func veilable(_ sql: TableSQL) throws -> [Veilable] {
    if let known = veilableByTable[sql.shape.id] { return known }
    let found = try sql.shape.foreignKeys.compactMap { foreignKey -> Veilable? in
      guard let parent = transaction.sql.parent(of: foreignKey), foreignKey.isExact(parent),
        sql.shape.isReleased(foreignKey), sql.shape.isAlone(foreignKey)
      else { return nil }
      let columns = sql.shape.columns(of: foreignKey)
      guard columns.count == foreignKey.columns.count else { return nil }
      var released: [(name: String, value: SQLiteValue)] = []
      for column in columns {
        var value = SQLiteValue.null
        if foreignKey.onDelete == "SET DEFAULT" {
          // One that is computed would be another on each device.
          guard try transaction.db.hasLiteralDefault(column, in: sql.shape.name) else { return nil }
          let place = foreignKey.columns.firstIndex { $0.folded == column.folded }!
          let declared = try transaction.db.declaredDefault(of: column, in: sql.shape.name)
          guard let stored = foreignKey.affinities[place].stored(declared) else { return nil }
          value = stored
        }
        released.append((column, value))
      }
      return Veilable(foreignKey: foreignKey, parent: parent, released: released)
    }
    veilableByTable[sql.shape.id] = found
    return found
  }

  func isVeilable(_ sql: TableSQL) throws -> Bool { try !veilable(sql).isEmpty }

  func hasVeilable() throws -> Bool { try transaction.sql.contains(where: isVeilable) }

  /// Whether a row is deleted, or would be taken along by a delete that the state has: from row to
  /// row along references that say `ON DELETE CASCADE`.
  private func isGone(_ row: RowID) throws -> Bool {
    if let known = gone[row] { return known }
    var below: [RowID: RowID] = [:]
    var waiting = [row]
    while let next = waiting.popLast() {
      let isDeleted = try gone[next] ?? (state(of: next)?.deletion != nil)
      let isHeld =
        try Planted.isActive(.veilForHeld) && transaction.held.holds(next.table, next.key)
      if isDeleted || isHeld {
        var child: RowID? = next
        while let row = child {
          gone[row] = true
          child = below[row]
        }
        return true
      }
      if gone[next] != nil { continue }
      for parent in try cascadingParents(of: next) where below[parent] == nil && parent != row {
        below[parent] = next
        waiting.append(parent)
      }
    }
    // Nothing above is gone.
    for met in below.keys { gone[met] = false }
    gone[row] = false
    return false
  }

  private func state(of row: RowID) throws -> RowState? {
    guard let sql = transaction.sql.first(where: { $0.shape.id == row.table }) else { return nil }
    return try writer(sql).state(of: row.key)
  }

  private func cascadingParents(of row: RowID) throws -> [RowID] {
    guard let sql = transaction.sql.first(where: { $0.shape.id == row.table }),
      sql.shape.foreignKeys.contains(where: { $0.onDelete == "CASCADE" }),
      try state(of: row)?.isShown ?? false, let content = try writer(sql).standing(row.key)
    else { return [] }
    return try references(of: row.key, content, sql.shape)
      .filter { $0.foreignKey.onDelete == "CASCADE" }
      .map { RowID(table: $0.parent.shape.id, key: $0.key) }
  }
}

extension TableShape {
  /// Whether no other reference has a column of this one, and the latest write stands in each.
  fileprivate func isAlone(_ foreignKey: ForeignKey) -> Bool {
    let own = Set(foreignKey.columns.map(\.folded))
    return foreignKeys.allSatisfy {
      $0 == foreignKey || own.isDisjoint(with: $0.columns.map(\.folded))
    }
      && columns.allSatisfy { !own.contains($0.name.folded) || $0.rule.kind == .lastWriter }
  }
}
