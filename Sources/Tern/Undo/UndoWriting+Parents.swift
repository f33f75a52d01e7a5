import GRDB
import TernCore
import TernDatabase

extension UndoWriting {
  /// Leaves rows that others, which stay, refer to: deleting one would take those along,
  /// or be refused.
  func keepParents(_ rows: [UndoRow], _ plans: inout [UndoRow.Plan]) throws {
    var hasKept: Bool
    repeat {
      hasKept = false
      let writes = Dictionary(
        uniqueKeysWithValues: zip(rows, plans).compactMap { row, plan in
          plan.write.map { (row.id, $0) }
        })
      for (index, row) in rows.enumerated() {
        guard case .delete? = plans[index].write, try hasChild(row, beside: writes)
        else { continue }
        plans[index] = row.left
        hasKept = true
      }
    } while hasKept
  }

  /// Whether a row of a synced table refers to this one, and none of the writes changes that.
  private func hasChild(_ row: UndoRow, beside writes: [RowID: UndoRow.Write]) throws
    -> Bool
  {
    try row.hasChild(in: transaction) { child, foreignKey in
      switch writes[child] {
      case .delete: false
      case .update(let content):
        !foreignKey.columns.contains { column in
          content.keys.contains { $0.folded == column.folded }
        }
      default: true
      }
    }
  }

  /// Leaves what was written and refers to rows that are not there: the columns that went back to
  /// them, and rows that came back, with what refers to those.
  ///
  /// - Returns: whether there was any. What was written is then to be rolled back.
  func leaveOrphans(_ rows: [UndoRow], _ plans: inout [UndoRow.Plan]) throws -> Bool {
    let places = Dictionary(uniqueKeysWithValues: rows.indices.map { (rows[$0].id, $0) })
    // Elsewhere nothing can be left.
    let tables = Set(
      zip(rows, plans).compactMap { $1.write == nil ? nil : $0.sql.shape.id })
    var hasLeft = false
    var absent: [UndoRow] = []
    func take(_ plan: UndoRow.Plan, _ index: Int) {
      if case .insert? = plans[index].write, plan.write == nil { absent.append(rows[index]) }
      plans[index] = plan
      hasLeft = true
    }
    for (index, row) in rows.enumerated() {
      for (foreignKey, orphan) in zip(row.sql.shape.foreignKeys, row.sql.orphan) {
        if let plan = try row.leaving(foreignKey, of: plans[index], transaction.db),
          try row.isFound(by: orphan, in: transaction)
        {
          take(plan, index)
        }
      }
    }
    while let parent = absent.popLast() {
      _ = try parent.hasChild(in: transaction, of: tables) { child, foreignKey in
        if let index = places[child],
          let plan = try rows[index].leaving(foreignKey, of: plans[index], transaction.db)
        {
          take(plan, index)
        }
        return false
      }
    }
    return hasLeft
  }
}

extension UndoRow {
  fileprivate func isFound(by select: String, in transaction: StoreTransaction) throws -> Bool {
    let select = try transaction.statement(select)
    for (index, value) in key.enumerated() { select.bind(Int32(index + 1), copy: value) }
    return try select.first {} != nil
  }

  /// Whether a row of a synced table, or of one of some, that refers to this one meets a condition.
  func hasChild(
    in transaction: StoreTransaction, of tables: Set<Int64>? = nil,
    where isMet: (RowID, TableShape.ForeignKey) throws -> Bool
  ) throws -> Bool {
    for child in transaction.sql where tables?.contains(child.shape.id) ?? true {
      for foreignKey in child.shape.foreignKeys
      where foreignKey.parent.folded == shape.name.folded {
        let children = try transaction.statement(child.children(foreignKey, of: shape))
        for (index, value) in key.enumerated() { children.bind(Int32(index + 1), copy: value) }
        defer { children.reset() }
        while try children.step() {
          let id = RowID(table: child.shape.id, key: children.packedKey(child.shape))
          if try isMet(id, foreignKey) { return true }
        }
      }
    }
    return false
  }
}

extension TableSQL {
  /// Yields the keys of the rows that refer to the parent with the bound key.
  fileprivate func children(_ foreignKey: TableShape.ForeignKey, of parent: TableShape) -> String {
    let match =
      zip(foreignKey.parentColumns, foreignKey.columns)
      .map { "p.\($0.quoted) = c.\($1.quoted)" }
      + parent.keyColumns.enumerated().map { "p.\($1.quoted) = ?\($0 + 1)" }
    return "SELECT \(shape.keyColumns.map { "c.\($0.quoted)" }.joined(separator: ", ")) "
      + "FROM \(parent.qualifiedName) AS p, \(shape.qualifiedName) AS c "
      + "WHERE \(match.joined(separator: " AND "))"
  }
}
