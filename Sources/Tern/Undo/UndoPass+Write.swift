import GRDB
import TernCore
import TernDatabase

extension UndoPass {
  typealias Write = (write: UndoRow.Write, row: UndoRow)

  // MARK: - Parents

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
  private func hasChild(_ row: UndoRow, beside writes: [StrayWatch.RowID: UndoRow.Write]) throws
    -> Bool
  {
    for sql in transaction.sql {
      for foreignKey in sql.shape.foreignKeys
      where foreignKey.parent.folded == row.sql.shape.name.folded {
        let children = try transaction.statement(sql.children(foreignKey, of: row.sql.shape))
        for (index, value) in row.key.enumerated() { children.bind(Int32(index + 1), copy: value) }
        defer { children.reset() }
        while try children.step() {
          let child = StrayWatch.RowID(table: sql.shape.id, key: children.packedKey(sql.shape))
          switch writes[child] {
          case .delete: continue
          case .update(let content)
          where foreignKey.columns.contains { column in
            content.keys.contains { $0.folded == column.folded }
          }: continue
          default: return true
          }
        }
      }
    }
    return false
  }

  // MARK: - Writing

  /// A table may take a row only when another one has made room: what is refused is tried again
  /// behind the rest.
  func write(_ writes: [Write]) throws {
    var (waiting, hasMadeRoom) = (writes, false)
    while !waiting.isEmpty {
      let refused = try waiting.filter { try !isTaken($0.write, $0.row) }
      if refused.count == waiting.count {
        if hasMadeRoom { try run(refused[0].write, refused[0].row) { try $0.run() } }
        // Two that swapped what a UNIQUE index holds: both let go of it first.
        hasMadeRoom = true
        for (index, write) in refused.enumerated() { try letGo(write, index) }
      }
      waiting = refused
    }
  }

  private func isTaken(_ write: UndoRow.Write, _ row: UndoRow) throws -> Bool {
    do {
      return try run(write, row) { try $0.runUnlessRefused() == nil }
    } catch let end as TransactionEnded {
      throw end.cause
    }
  }

  /// Puts something else into the columns of UNIQUE indexes that a row is about to get a value in,
  /// if the table takes any of it.
  private func letGo(_ write: Write, _ index: Int) throws {
    guard case .update(let content) = write.write else { return }
    let unique = Set(write.row.sql.shape.uniques.flatMap(\.columns).map(\.name.folded))
    let names = content.keys.filter { unique.contains($0.folded) }
    if names.isEmpty { return }
    for value in [.null, .integer(.min + Int64(index)), .blob(write.row.id.key)] as [Value] {
      let update = UndoRow.Write.update(Dictionary(uniqueKeysWithValues: names.map { ($0, value) }))
      if try isTaken(update, write.row) { return }
    }
  }

  private func run<T>(
    _ write: UndoRow.Write, _ row: UndoRow, _ execute: (FastStatement) throws -> T
  ) throws -> T {
    let statement: FastStatement
    var values: [Value] = []
    switch write {
    case .delete: statement = try transaction.statement(row.sql.delete)
    case .update(let content), .insert(let content):
      let names = content.keys.sorted()
      values = names.map { content[$0]! }
      if case .update = write {
        statement = try transaction.statement(row.sql.update(names))
      } else {
        statement = try transaction.statement(row.sql.upsert(names))
      }
    }
    for (index, value) in (row.key + values).enumerated() {
      statement.bind(Int32(index + 1), copy: value)
    }
    let result = try transaction.withoutCounting(row.sql) { try execute(statement) }
    try transaction.notifyWrite(to: row.sql.shape)
    return result
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
