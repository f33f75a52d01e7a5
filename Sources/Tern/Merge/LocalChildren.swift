import GRDB
import TernCore
import TernDatabase

/// The end of a pull: does to rows of unsynced tables what their foreign keys declare, where the
/// pull left their parent deleted (INV-15).
///
/// A merge runs with foreign keys off, and knows of no row that it may not have to bring back. So
/// it only notes what went, ``GoneParentTable``. Here foreign keys are on, and SQLite itself goes
/// on from the rows that refer to the one that is deleted. What syncs and would be reached is
/// quarantined before, as rows whose parent is missing, so that it is no write of this device.
final class LocalChildren {
  /// Parents that are looked at in one transaction.
  static let limit = 100
  private let transaction: StoreTransaction
  private let references: LocalReferences
  private let pass: MergePass
  private var hasQuarantined = false
  /// Unsynced tables to whose rows something was done, by their folded names.
  private var written: [String: String] = [:]

  init(_ transaction: StoreTransaction) throws {
    self.transaction = transaction
    references = transaction.localReferences
    pass = try MergePass(transaction)
  }

  /// Looks at the next parents behind one, in a transaction that has sealed what was noted: with
  /// foreign keys as the app has them.
  ///
  /// - Returns: the last of them; `nil` behind the end.
  func run(after last: RowID?) throws -> RowID? {
    // SQLite declares nothing then, and would not make up for it later.
    guard try Bool.fetchOne(transaction.db, sql: "PRAGMA foreign_keys") ?? false else {
      try transaction.goneParents.forgetAll()
      return nil
    }
    let parents = try transaction.goneParents.rows(after: last, limit: Self.limit)
    if parents.isEmpty { return nil }
    transaction.triggers.include(reachedTables())
    try transaction.triggers.merging {
      for parent in parents { try settle(parent) }
      if hasQuarantined { try transaction.db.withoutForeignKeys { try pass.finish() } }
    }
    try notify()
    return parents.last
  }

  private func reachedTables() -> [String] {
    var tables: [String: String] = [:]
    for reference in references.byParent.values.joined() {
      for name in references.reached(from: reference.child) { tables[name.folded] = name }
    }
    return tables.values.sorted()
  }

  private func settle(_ parent: RowID) throws {
    let children = references.byParent[parent.table] ?? []
    guard let sql = transaction.sql.first(where: { $0.shape.id == parent.table }),
      !children.isEmpty, try pass.writer(for: sql).read(parent.key) == nil
    else { return try transaction.goneParents.forget(parent) }
    let values = try parent.key.withUnsafeBytes { try PackedKey.values($0) }
    let referring = try children.filter {
      try isAny(in: $0.child, LocalRows(columns: $0.columns, values: values))
    }
    if !referring.isEmpty {
      // INV-15: a row that is quarantined may be shown again, whatever its own state is.
      guard try pass.writer(for: sql).state(of: parent.key)?.deletion != nil,
        try transaction.held.reason(of: parent) == nil
      else { return }
      for reference in referring {
        try carryOut(reference, LocalRows(columns: reference.columns, values: values))
      }
    }
    try transaction.goneParents.forget(parent)
  }

  // MARK: - Rows that refer to one

  private func carryOut(_ reference: LocalReferences.Reference, _ rows: LocalRows) throws {
    for name in references.reached(from: reference.child) { written[name.folded] = name }
    if try attempt(reference, rows) { return }
    // One of them is refused, and stays as it is. The others need not.
    if reference.identity.isEmpty { return }
    let own = try values(of: reference.identity, in: reference.child, rows, isOrdered: true)
    for row in own {
      _ = try attempt(reference, LocalRows(columns: reference.identity, values: row))
    }
  }

  /// - Returns: `false`, with nothing done, where SQLite refuses it.
  private func attempt(_ reference: LocalReferences.Reference, _ rows: LocalRows) throws -> Bool {
    var isDone = false
    // SQLite counts a row that lacks its parent already, and goes, against one that loses its own.
    let endangered = references.endangered(by: reference)
    let before = try DanglingRows(transaction.db, in: endangered)
    try transaction.connection.inSavepoint {
      guard try quarantineBehind(reference, rows), try write(reference, rows),
        !transaction.db.hasOpenViolations,
        try endangered.isEmpty
          || !DanglingRows(transaction.db, in: endangered).isMore(than: before)
      else { return .rollback }
      isDone = true
      return .commit
    }
    return isDone
  }

  private func write(_ reference: LocalReferences.Reference, _ rows: LocalRows) throws -> Bool {
    let table = "main.\(reference.child.quoted)"
    let head =
      switch reference.action {
      case .delete: "DELETE FROM \(table)"
      case .set(let values):
        "UPDATE \(table) SET "
          + values.sorted { $0.key < $1.key }.map { "\($0.key.quoted) = \($0.value)" }
          .joined(separator: ", ")
      }
    do {
      let statement = try transaction.triggers.statement("\(head) WHERE \(rows.condition)")
      rows.bind(to: statement)
      guard try statement.runUnlessRefused() == nil else { return false }
    } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
      // It can't be prepared: a trigger, or a foreign key to the table, names what is not there.
      return false
    }
    transaction.triggers.hasWrittenRows = true
    return true
  }

  private func isAny(in table: String, _ rows: LocalRows) throws -> Bool {
    let select = try transaction.statement(
      "SELECT 1 FROM main.\(table.quoted) WHERE \(rows.condition) LIMIT 1")
    rows.bind(to: select)
    return try select.first {} != nil
  }

  private func values(
    of columns: [String], in table: String, _ rows: LocalRows, isOrdered: Bool = false
  ) throws -> [[SQLiteValue]] {
    let names = columns.map(\.quoted).joined(separator: ", ")
    let select = try transaction.statement(
      "SELECT \(names) FROM main.\(table.quoted) WHERE \(rows.condition)"
        + (isOrdered ? " ORDER BY \(names)" : ""))
    rows.bind(to: select)
    var found: [[SQLiteValue]] = []
    try select.each {
      found.append(columns.indices.map { select.value(Int32($0)).value ?? .null })
    }
    return found
  }

  // MARK: - Synced rows behind them

  /// Quarantines the rows that sync and that the action would reach.
  ///
  /// - Returns: `false` where it would reach one of another replica.
  private func quarantineBehind(_ reference: LocalReferences.Reference, _ rows: LocalRows) throws
    -> Bool
  {
    guard references.withSynced.contains(reference.child.folded) else { return true }
    var waiting = [Reach(table: reference.child, rows: rows, action: reference.action)]
    var met = Set(waiting)
    while let reach = waiting.popLast() {
      for edge in references.edges[reach.table.folded] ?? []
      where reach.action.touches(edge.parentColumns) {
        let parents = try values(of: edge.parentColumns, in: reach.table, reach.rows)
        for values in try childValues(edge, of: parents, in: reach.table) {
          let children = LocalRows(columns: edge.columns, values: values)
          switch edge.child {
          case .synced(let id): try quarantine(children, id)
          case .ofOther: if try isAny(in: edge.table, children) { return false }
          case .unsynced(let onDelete, let onUpdate):
            guard let action = reach.action == .delete ? onDelete : onUpdate else { continue }
            let next = Reach(table: edge.table, rows: children, action: action)
            if met.insert(next).inserted { waiting.append(next) }
          }
        }
      }
    }
    return true
  }

  /// What the rows hold that refer to some of a table, as SQLite compares it: the parent's type
  /// and collation decide.
  private func childValues(
    _ edge: LocalReferences.Edge, of parents: [[SQLiteValue]], in table: String
  ) throws -> Set<[SQLiteValue]> {
    let parents = Set(parents.filter { !$0.contains(.null) })
    if edge.isExact { return parents }
    let names = edge.columns.map { "c.\($0.quoted)" }.joined(separator: ", ")
    let terms = edge.parentColumns.enumerated().map { index, name in
      "p.\(name.quoted) = ?\(index + 1) AND p.\(name.quoted) = +c.\(edge.columns[index].quoted)"
    }
    let select = try transaction.statement(
      "SELECT DISTINCT \(names) FROM main.\(table.quoted) AS p, main.\(edge.table.quoted) AS c "
        + "WHERE \(terms.joined(separator: " AND "))")
    var found: Set<[SQLiteValue]> = []
    for parent in parents {
      LocalRows(columns: edge.parentColumns, values: parent).bind(to: select)
      try select.each {
        found.insert(edge.columns.indices.map { select.value(Int32($0)).value ?? .null })
      }
    }
    return found
  }

  private struct Reach: Hashable {
    let table: String
    let rows: LocalRows
    let action: LocalReferences.Action
  }

  private func quarantine(_ rows: LocalRows, _ table: Int64) throws {
    guard let sql = transaction.sql.first(where: { $0.shape.id == table }) else { return }
    let keys = try values(of: sql.shape.keyColumns, in: sql.shape.name, rows)
    if keys.isEmpty { return }
    let writer = try pass.writer(for: sql)
    try transaction.db.withoutForeignKeys {
      for key in keys { try writer.hold(PackedKey.bytes(of: key), .parent, adding: [:]) }
    }
    hasQuarantined = true
  }

  /// Tells observers of what was written past GRDB.
  private func notify() throws {
    // GRDB observes no table with a quote in its name.
    for name in written.values where !name.contains("\"") {
      try transaction.db.notifyChanges(inTable: name)
    }
    written = [:]
  }
}

/// Rows of an unsynced table, or of one that refers to it, by what they hold in columns.
private struct LocalRows: Hashable {
  let columns: [String]
  let values: [SQLiteValue]

  /// By the index of the columns, and then as the parent compares: its key is compared by bytes,
  /// whatever the child's collation.
  var condition: String {
    columns.enumerated().map {
      "\($1.quoted) = ?\($0 + 1) AND \($1.quoted) = ?\($0 + 1) COLLATE BINARY"
    }.joined(separator: " AND ")
  }

  func bind(to statement: FastStatement) {
    for (index, value) in values.enumerated() { statement.bind(Int32(index + 1), copy: value) }
  }
}
