import TernCore
import TernDatabase

/// Shows the quarantined rows that may stand. One whose parent is neither in its table nor itself
/// quarantined and coming is left where it is: writing it and taking it back would run the app's
/// triggers and tell observers at every merge.
///
/// To leave a row it has to be certain that it lacks a parent. Where SQLite alone could tell, it is
/// written, and ``holdOrphans()`` decides.
extension Settlement {
  func showHeld(_ tables: [TableSQL]) throws {
    guard try transaction.held.hasUnsettledRows() else { return }
    try removeAgain()
    // What waits for a row that may be shown may be shown with it.
    try transaction.statement(transaction.tables.statements.wakeFurther).run()
    var queue = HeldQueue()
    for sql in tables { try collect(sql, into: &queue) }
    queue.begin()
    // What may refer to rows of one table waits for those of another: no chain is longer.
    var rounds = tables.count
    while true {
      while let row = queue.next() { try show(row, &queue) }
      if rounds > 0, try decide(&queue) {
        rounds -= 1
        continue
      }
      guard let row = queue.nextOfCircle() else { return }
      rounds = 0
      try show(row, &queue)
    }
  }

  /// Takes out what is to go and was refused.
  private func removeAgain() throws {
    for sql in transaction.sql {
      for key in try transaction.held.unsettledKeys(sql.shape.id)
      where try transaction.held.reason(of: RowID(table: sql.shape.id, key: key)) == .removal {
        try writer(sql).removeAgain(key)
      }
    }
  }

  private func collect(_ sql: TableSQL, into queue: inout HeldQueue) throws {
    var keys = try transaction.held.unsettledKeys(sql.shape.id)
    if keys.isEmpty { return }
    let writer = try writer(sql)
    if !sql.shape.uniques.isEmpty {
      // In the order of the walk, so that few that are shown here have to go again.
      keys = try keys.map { (key: $0, creation: try writer.creation(of: $0)) }
        .sorted { $0.creation < $1.creation }.map(\.key)
    }
    for key in keys {
      let row = RowID(table: sql.shape.id, key: key)
      let reason = try transaction.held.reason(of: row)
      if reason == .removal || reason == .veiled { continue }
      if reason == .folded {
        try unfoldIfAlone(row, writer)
        continue
      }
      // Without a state it is a row that is too large to travel and had to yield.
      guard try writer.state(of: key)?.isShown ?? true,
        let held = try transaction.held.content(in: .held, sql.shape.id, key)
      else { continue }
      // What is too large to travel was written here meanwhile, and stands for itself.
      if try writer.read(key) != nil {
        try transaction.held.drop(in: .held, sql.shape.id, key)
        continue
      }
      guard reason == .parent || reason == .orphaned else {
        queue.add(row, .init())
        continue
      }
      let content = sql.shape.present(held)
      if reason == .orphaned { knownOrphans.insert(row) }
      let shown = try parents.veil(over: content, of: key, sql)?.laid(over: content) ?? content
      let needs = try needs(of: row, shown, sql)
      if reason == .orphaned, !needs.areOfDeleted {
        try transaction.held.hold(row.table, key, .parent, content: content)
      } else if content != held {
        // Under the columns' names of today: those of tomorrow are not told of yesterday's.
        try transaction.held.hold(row.table, key, reason!, content: content)
      }
      if let needs = needs.comingWith { queue.add(row, needs) }
    }
  }

  private func show(_ row: RowID, _ queue: inout HeldQueue) throws {
    let writer = try writer(transaction.sql.first { $0.shape.id == row.table }!)
    let shape = writer.sql.shape
    guard let held = try transaction.held.content(in: .held, row.table, row.key) else {
      return queue.fell(row)
    }
    let candidate = try waitingRow(row, shape.present(held), writer.sql)
    guard let refused = try show(candidate, writer) else { return queue.came(row) }
    if try refused.content != held || transaction.held.reason(of: row) != refused.reason {
      try writer.hold(row.key, refused.reason, adding: refused.content)
    }
    guard refused.reason == .unique, !shape.uniques.isEmpty else { return queue.fell(row) }
    waiting[row] = candidate
    queue.came(row) { contested.contains($0.table) }
  }

  // MARK: - What rows need

  private struct References {
    /// What has to be shown first; `nil` where a parent is missing for good.
    var comingWith: HeldQueue.Needs? = .init()
    /// Whether a parent is missing because it was deleted.
    var areOfDeleted = false
  }

  private func needs(of row: RowID, _ content: [String: SQLiteValue], _ sql: TableSQL) throws
    -> References
  {
    var references = References()
    let values = try sql.shape.values(row.key, content)
    for foreignKey in sql.shape.foreignKeys {
      // Who competes for UNIQUE may not depend on what was quarantined before: by such references
      // every row does, until it falls.
      if contested.contains(row.table),
        transaction.sql.parent(of: foreignKey).map({ !foreignKey.isExact($0) }) ?? true
      {
        continue
      }
      let named = foreignKey.columns.map { values[$0.folded] }
      // A column that is absent stands at its default.
      guard !named.contains(nil), !named.contains(.null),
        let search = ParentSearch(foreignKey, values: named.map { $0! })
      else { continue }
      if try search.isFound(in: transaction) { continue }
      guard let parent = transaction.sql.parent(of: foreignKey) else {
        references.comingWith = nil
        continue
      }
      guard let key = foreignKey.key(of: parent, values) else {
        references.comingWith?.tables.insert(parent.id)
        continue
      }
      let id = RowID(table: parent.id, key: key)
      // A row that refers to itself stands with itself.
      if id == row { continue }
      // It competes for UNIQUE, as one that lost does, although nobody looks at that again.
      if contested.contains(row.table), try isContender(id), try !transaction.held.isUnsettled(id) {
        continue
      }
      references.comingWith?.rows.insert(id)
      if let parentSQL = transaction.sql.first(where: { $0.shape.id == parent.id }),
        try writer(parentSQL).state(of: key)?.deletion != nil
      {
        references.areOfDeleted = true
      }
    }
    return references
  }

  /// Looks again at the rows that may refer to rows of a table that are shown now, or fell.
  ///
  /// - Returns: whether any can go on, or fell.
  private func decide(_ queue: inout HeldQueue) throws -> Bool {
    var hasDecided = false
    for row in queue.undecided {
      let sql = transaction.sql.first { $0.shape.id == row.table }!
      let held = try transaction.held.content(in: .held, row.table, row.key) ?? [:]
      let content = sql.shape.present(held)
      let isContested = contested.contains(row.table)
      let shown = try parents.veil(over: content, of: row.key, sql)?.laid(over: content) ?? content
      var needs = try needs(of: row, shown, sql).comingWith
      for id in needs?.rows ?? [] where !queue.isPending(id) {
        if isContested, try mayStand(id) { needs?.rows.remove(id) } else { needs = nil }
      }
      if needs?.tables.contains(where: { !queue.hasPending(of: $0) }) ?? false { needs = nil }
      if let needs {
        hasDecided = queue.reduce(row, to: needs) || hasDecided
      } else {
        queue.fell(row)
        hasDecided = true
      }
    }
    return hasDecided
  }
}

/// Looks for the parent of a row that is in no table, as SQLite would were it in its own.
private struct ParentSearch {
  let sql: String
  let values: [SQLiteValue]

  /// `nil` where a column would make another value of what it is given.
  init?(_ foreignKey: TableShape.ForeignKey, values: [SQLiteValue]) {
    if foreignKey.travels.contains(false) { return nil }
    for (affinity, value) in zip(foreignKey.affinities, values) {
      switch (affinity, value) {
      case (.text, .text), (.integer, .integer), (.blob, _): continue
      default: return nil
      }
    }
    // A parameter has no type of its own: the parent's alone converts.
    let terms = foreignKey.parentColumns.enumerated().map { "\($1.quoted) = ?\($0 + 1)" }
    sql =
      "SELECT 1 FROM main.\(foreignKey.parent.quoted) WHERE \(terms.joined(separator: " AND "))"
    self.values = values
  }

  func isFound(in transaction: StoreTransaction) throws -> Bool {
    let select = try transaction.statement(sql)
    for (index, value) in values.enumerated() { select.bind(Int32(index + 1), copy: value) }
    return try select.first {} != nil
  }
}
