import GRDB
import TernCore
import TernDatabase

/// Inserts rows that another file of the same app shows and this state lacks, or has deleted, by
/// writes like any other, inside the caller's transaction.
struct KeptRows {
  let transaction: StoreTransaction
  let file: Database

  func restore() throws -> RestoredRows {
    var rows: [UndoRow] = []
    var plans: [UndoRow.Plan] = []
    var missing: [String] = []
    for sql in transaction.sql {
      let isThere = try forEachRow(of: sql.shape) { key, content in
        let values = try key.withUnsafeBytes { try PackedKey.values($0) }
        let state = try transaction.states.state(of: values, sql)
        if state?.isPresent ?? false { return }
        let row = UndoRow(
          missing: RowID(table: sql.shape.id, key: key), sql, values, state, transaction.authors)
        rows.append(row)
        plans.append(row.plan(content))
      }
      if !isThere { missing.append(sql.shape.name) }
    }
    plans = try UndoWriting(transaction: transaction).run(rows, plans)
    return RestoredRows(rows: plans.map(\.report), missingTables: missing.sorted())
  }

  /// - Returns: whether the file has the table, under its name or a former one, with the same key.
  private func forEachRow(
    of shape: TableShape, _ body: ([UInt8], [String: SQLiteValue]) throws -> Void
  ) throws -> Bool {
    guard
      let table = try ([shape.name] + shape.formerNames).first(where: {
        try file.tableExists($0, in: "main")
      })
    else { return false }
    let info = try file.columns(in: table, in: "main")
    let columns = info.map(\.name)
    let known = Set(columns.map(\.folded))
    let keys = info.filter { $0.primaryKeyIndex > 0 }.sorted {
      $0.primaryKeyIndex < $1.primaryKeyIndex
    }
    guard shape.isKeyed(by: keys.map(\.name)) else { return false }
    // Numbers from before the table was rekeyed name other rows than those that are here.
    let live = try transaction.db.columns(in: shape.name, in: "main")
      .filter { $0.primaryKeyIndex > 0 }.sorted { $0.primaryKeyIndex < $1.primaryKeyIndex }
    let isRekeyed = zip(keys, live).contains { kept, live in
      kept.type.folded == "integer" && live.type.folded != "integer"
    }
    if isRekeyed { return false }
    let wanted =
      shape.columns.flatMap { [$0.name] + $0.formerNames }.filter { known.contains($0.folded) }
      + shape.localColumns.filter { known.contains($0.folded) }
    let names = (keys.map(\.name) + wanted).map(\.quoted).joined(separator: ", ")
    let scan = try FastStatement(file, "SELECT \(names) FROM main.\(table.quoted)")
    defer { scan.reset() }
    let first = shape.keyColumns.count
    let veils = VeilTable(StoreConnection(file, transaction.tables, memory: StatementMemory()))
    let kept = try keptShape(shape, named: table)
    while try scan.step() {
      // Which the table may hold while it doesn't sync.
      if (0..<Int32(first)).contains(where: { scan.isNull($0) }) { continue }
      var content: [String: SQLiteValue] = [:]
      for (index, name) in wanted.enumerated() {
        content[name] = scan.value(Int32(first + index)).value
      }
      let (key, shown) = (scan.packedKey(shape), shape.present(content))
      let veil = try kept.flatMap { try veils.veil(of: key, $0) }
      try body(key, veil?.lifted(from: shown) ?? shown)
    }
    return true
  }

  /// The table under its number in the file; `nil` where the file does not sync it.
  private func keptShape(_ shape: TableShape, named table: String) throws -> TableShape? {
    guard try file.tableExists(transaction.tables.table, in: "main") else { return nil }
    let id = try Int64.fetchOne(
      file, sql: "SELECT id FROM \(transaction.tables.table) WHERE name = ?", arguments: [table])
    return id.map { id in
      var kept = shape
      kept.id = id
      return kept
    }
  }
}

extension UndoRow {
  /// One that is nowhere, of which nothing else is known.
  fileprivate init(
    missing id: RowID, _ sql: TableSQL, _ key: [SQLiteValue], _ state: RowState?, _ authors: Authors
  ) {
    let life = state?.life ?? 0
    self.init(
      id: id, sql: sql, key: key, changes: [LoggedChange(kind: .delete, life: life, columns: [])],
      before: RowBefore(life: life), isMigrated: false, state: state, shown: nil, isHeld: false,
      kept: nil, trimmedTime: .zero, writes: UndoneWrites(author: 0, times: []), authors: authors)
  }

  fileprivate func plan(_ content: [String: SQLiteValue]) -> Plan {
    (.insert(content), report(.broughtBack, columns: Set(content.keys)))
  }
}
