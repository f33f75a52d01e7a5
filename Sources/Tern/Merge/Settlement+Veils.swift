import TernCore
import TernDatabase

/// Rows whose parent is deleted and whose reference says `ON DELETE SET NULL` or `SET DEFAULT`:
/// they are shown without it, and the state keeps what they refer to.
///
/// Which they are is decided before all else, and from the state alone: of the parents that are
/// deleted, and of those that such a delete takes along. A parent that is only quarantined veils
/// nothing.
extension Settlement {
  // MARK: - Which

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
  struct Veilable {
    let foreignKey: TableShape.ForeignKey
    let parent: TableShape
    /// What its columns show of a parent that is gone.
    let released: [(name: String, value: SQLiteValue)]
  }

  func veilable(_ sql: TableSQL) throws -> [Veilable] {
    if let known = veilableByTable[sql.shape.id] { return known }
    let found = try sql.shape.foreignKeys.compactMap { foreignKey -> Veilable? in
      guard let parent = parent(of: foreignKey), foreignKey.isExact(parent),
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

  func hasVeilable() throws -> Bool {
    try transaction.sql.contains { try !veilable($0).isEmpty }
  }

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

  // MARK: - Laying and lifting

  /// Shows again what veils hide of the rows that are to be looked at, where what they refer to is
  /// gone no longer, or something else is.
  func liftVeils() throws {
    guard try transaction.veils.hasRows(), try transaction.held.hasUnsettledRows() else { return }
    // What waits for a row that is gone with its own parent is looked at with that.
    try transaction.statement(transaction.tables.statements.wakeFurther).run()
    for sql in transaction.sql {
      let writer = try writer(sql)
      for key in try transaction.held.unsettledKeys(sql.shape.id) {
        guard let laid = try writer.veil(of: key) else { continue }
        // Without a state it is a row that is too large to travel, or a migration brought.
        guard let content = try writer.read(key), try writer.state(of: key)?.isShown ?? true else {
          try writer.dropVeil(key)
          continue
        }
        if try veil(over: content, of: key, sql) != laid { try writer.lift(laid, from: key) }
      }
    }
  }

  enum Laid {
    case veiled
    /// It is quarantined, for its table refuses the veil.
    case refused
    /// Nothing was done: no veil gives it a parent, or none is due.
    case nothing
  }

  /// Veils a row in its table.
  func lay(on key: [UInt8], _ writer: TableWriter) throws -> Laid {
    if try veilable(writer.sql).isEmpty { return .nothing }
    guard let content = try writer.read(key),
      let veil = try veil(over: content, of: key, writer.sql)
    else { return .nothing }
    let before = try writer.veil(of: key)
    // What it shows has no parent either.
    if before == veil { return .nothing }
    // At once, for the table may refuse what the state has.
    let lifted = before?.columns.reduce(into: [:]) { $0[$1.name] = content[$1.name] } ?? [:]
    guard let reason = try writer.lay(veil, on: key, over: lifted) else {
      if before == nil { newOrphans += 1 }
      return .veiled
    }
    try writer.hold(key, reason == .unique ? .unique : .parent, adding: [:])
    return .refused
  }

  /// Shows a row that is not in its table, veiled where it is to be.
  ///
  /// - Returns: why the table refuses it, and what the state has of it.
  func show(_ row: WaitingRow, _ writer: TableWriter, folded winner: [UInt8]? = nil) throws
    -> (reason: HeldReason, content: [String: SQLiteValue])?
  {
    guard var refused = try writer.show(row.key, content: row.content, folded: winner) else {
      try transaction.held.drop(in: .held, row.sql.shape.id, row.key)
      if let veil = row.veil { try writer.noteVeil(veil, on: row.key) }
      return nil
    }
    guard let veil = row.veil else { return refused }
    refused.content = veil.lifted(over: refused.content)
    if refused.reason == .constraint { refused.reason = .parent }
    return refused
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
