import TernCore
import TernDatabase

/// The greatest set of rows in which every row has its parents: what was written, and what referred
/// to rows that went, is looked at, and taken out until nothing changes.
extension Settlement {
  private enum Footing {
    case stands
    /// A parent is not in its table, and may come with ``Settlement/waiting``.
    case leans
    case falls
  }

  /// Has rows looked at that a seal found without a parent, and the children of those that went.
  func takeNoted() throws {
    for sql in transaction.sql {
      let select = try transaction.statement(
        "SELECT key FROM \(transaction.tables.goneParent) WHERE tbl = ?")
      select.bind(1, sql.shape.id)
      defer { select.reset() }
      while try select.step() {
        let key = Array(select.blob(0))
        try writer(sql).noteGone(key)
        if !sql.shape.foreignKeys.isEmpty { try writer(sql).written.append(key) }
      }
    }
    try transaction.statement("DELETE FROM \(transaction.tables.goneParent)").run()
  }

  /// Wakes what waits for rows that stand and will fall: those below what went, and below what was
  /// written without its parent. What they keep out is decided before they fall.
  ///
  /// Those of them that are veiled stand, and what they show then may collide with others.
  func wakeBelow() throws {
    // Without UNIQUE nothing is kept out by a row that stands.
    guard !contested.isEmpty, try transaction.held.hasRows() || parents.hasVeilable() else {
      return
    }
    var below: [RowID] = []
    for writer in writers.values {
      let table = writer.sql.shape.id
      below += writer.removed.map { RowID(table: table, key: $0) }
      below += try writer.written.filter { try lacksParent($0, writer) }
        .map { RowID(table: table, key: $0) }
    }
    var met: Set<RowID> = []
    while let row = below.popLast() {
      guard met.insert(row).inserted else { continue }
      guard let parent = transaction.sql.first(where: { $0.shape.id == row.table }) else {
        continue
      }
      if try lay(on: row.key, writer(parent)) == .veiled { continue }
      try transaction.held.wake(row.table, row.key)
      for (sql, keys) in try children(of: row.key, parent.shape) {
        below += keys.map { RowID(table: sql.shape.id, key: $0) }
      }
    }
  }

  /// Quarantines the rows whose parents are missing. While rows are waiting, those count as there.
  func holdOrphans() throws {
    var isSettled = false
    while !isSettled {
      isSettled = true
      for sql in transaction.sql {
        guard let writer = writers[sql.shape.id] else { continue }
        let touched = writer.takeTouched()
        for key in touched.written { isSettled = try !fell(key, writer) && isSettled }
        for key in touched.removed {
          isSettled = try !holdChildren(of: key, sql.shape) && isSettled
        }
        if touched.isAny, looseParents.contains(sql.shape.id) {
          looselyReferredTo.insert(sql.shape.id)
        }
      }
      if !leaning.isEmpty { isSettled = try !settleLeaning() && isSettled }
      isSettled =
        try waiting.isEmpty
        ? !holdLooseChildren() && isSettled : !settleWaiting() && isSettled
    }
  }

  /// Quarantines a row that lacks a parent, or veils it; `true` when it was.
  private func fell(_ key: [UInt8], _ writer: TableWriter) throws -> Bool {
    switch try footing(key, writer) {
    case .stands: return false
    case .leans:
      leaning.insert(RowID(table: writer.sql.shape.id, key: key))
      return false
    case .falls:
      if try lay(on: key, writer) == .nothing { try writer.hold(key, .parent, adding: [:]) }
      return true
    }
  }

  /// Whether a row in its table refers to one that is not.
  func lacksParent(_ key: [UInt8], _ writer: TableWriter) throws -> Bool {
    switch try footing(key, writer) {
    case .stands: false
    case .leans, .falls: true
    }
  }

  private func footing(_ key: [UInt8], _ writer: TableWriter) throws -> Footing {
    var footing = Footing.stands
    for (foreignKey, orphan) in zip(writer.sql.shape.foreignKeys, writer.sql.orphan) {
      let statement = try transaction.statement(orphan)
      _ = try writer.bind(key, to: statement)
      let isMissing = try statement.step()
      statement.reset()
      guard isMissing else { continue }
      if waiting.isEmpty { return .falls }
      // Of a row that is veiled, what it shows has to have a parent.
      let content = try writer.readShown(key) ?? [:]
      if try !mayCome(foreignKey, of: writer.sql.shape, key, content) { return .falls }
      footing = .leans
    }
    return footing
  }

  /// Whether the parent of a row may stand in the end, as far as the key says which it is. Other
  /// references do not decide who competes for a UNIQUE value.
  private func mayCome(
    _ foreignKey: TableShape.ForeignKey, of shape: TableShape, _ key: [UInt8],
    _ content: [String: SQLiteValue]
  ) throws -> Bool {
    guard let parent = transaction.sql.parent(of: foreignKey), foreignKey.isExact(parent) else {
      return true
    }
    let values = try shape.values(key, content)
    let named = foreignKey.valuesByParent(values)
    return try mayStand(RowID(table: parent.id, key: parent.packed(named)))
  }

  /// Whether a row that is not in its table stands but for UNIQUE.
  func mayStand(_ row: RowID) throws -> Bool {
    try waiting[row] != nil || isContender(row)
  }

  func isContender(_ row: RowID) throws -> Bool {
    try contested.contains(row.table) && transaction.held.reason(of: row) == .unique
  }

  // MARK: - While rows are waiting

  /// Looks again at the rows that lean on others; `true` when one fell.
  private func settleLeaning() throws -> Bool {
    var hasFallen = false
    for row in leaning {
      guard let sql = transaction.sql.first(where: { $0.shape.id == row.table }) else { continue }
      let writer = try writer(sql)
      switch try footing(row.key, writer) {
      case .leans: continue
      case .stands: break
      case .falls:
        hasFallen = try fell(row.key, writer) || hasFallen
      }
      leaning.remove(row)
    }
    return hasFallen
  }

  /// Takes the rows out of those that wait whose parents cannot stand; `true` when there were any.
  private func settleWaiting() throws -> Bool {
    var hasFallen = false
    for (id, row) in waiting where try !hasParents(row) {
      waiting[id] = nil
      try transaction.held.hold(id.table, id.key, .parent, content: row.held)
      hasFallen = true
    }
    return hasFallen
  }

  private func hasParents(_ row: WaitingRow) throws -> Bool {
    let values = try row.sql.shape.values(row.key, row.content)
    for foreignKey in row.sql.shape.foreignKeys {
      guard let parent = transaction.sql.parent(of: foreignKey), foreignKey.isExact(parent) else {
        continue
      }
      let named = foreignKey.valuesByParent(values)
      if named.values.contains(.null) { continue }
      let key = parent.packed(named)
      if try mayStand(RowID(table: parent.id, key: key)) { continue }
      guard let sql = transaction.sql.first(where: { $0.shape.id == parent.id }),
        try writer(sql).read(key) != nil
      else { return false }
    }
    return true
  }

  // MARK: - Children

  /// Quarantines the rows that refer to one that went; `true` when there were any.
  private func holdChildren(of key: [UInt8], _ parent: TableShape) throws -> Bool {
    var hasHeld = false
    for (sql, keys) in try children(of: key, parent) { hasHeld = try hold(keys, sql) || hasHeld }
    return hasHeld
  }

  /// The rows in their tables that refer to one by its key.
  private func children(of key: [UInt8], _ parent: TableShape) throws
    -> [(sql: TableSQL, keys: [[UInt8]])]
  {
    var children: [(sql: TableSQL, keys: [[UInt8]])] = []
    for sql in transaction.sql {
      for foreignKey in sql.shape.foreignKeys
      where foreignKey.parent.folded == parent.name.folded {
        guard let select = sql.children(foreignKey, of: parent) else { continue }
        let statement = try transaction.statement(select)
        _ = try writer(sql).bind(key, to: statement)
        let keys = try keys(from: statement, sql)
        if !keys.isEmpty { children.append((sql, keys)) }
      }
    }
    return children
  }

  /// The tables that others refer to by other columns than the key, or by columns of another type.
  func findLooseParents() -> Set<Int64> {
    var ids: Set<Int64> = []
    for sql in transaction.sql {
      for foreignKey in sql.shape.foreignKeys {
        guard let parent = transaction.sql.parent(of: foreignKey),
          sql.children(foreignKey, of: parent) == nil
        else { continue }
        ids.insert(parent.id)
      }
    }
    return ids
  }

  /// The same for the rows that refer to a changed table by what no search by its key finds: all of
  /// them are looked at.
  private func holdLooseChildren() throws -> Bool {
    if looselyReferredTo.isEmpty { return false }
    let changed = looselyReferredTo
    looselyReferredTo = []
    var hasHeld = false
    for sql in transaction.sql {
      for foreignKey in sql.shape.foreignKeys {
        guard let parent = transaction.sql.parent(of: foreignKey), changed.contains(parent.id),
          sql.children(foreignKey, of: parent) == nil
        else { continue }
        let statement = try transaction.statement(sql.orphans(foreignKey))
        hasHeld = try hold(keys(from: statement, sql), sql) || hasHeld
      }
    }
    return hasHeld
  }

  private func keys(from statement: FastStatement, _ sql: TableSQL) throws -> [[UInt8]] {
    defer { statement.reset() }
    var keys: [[UInt8]] = []
    while try statement.step() { keys.append(statement.packedKey(sql.shape)) }
    return keys
  }

  /// Looks at rows of a table; `true` when one was quarantined.
  private func hold(_ keys: [[UInt8]], _ sql: TableSQL) throws -> Bool {
    let writer = try writer(sql)
    return try keys.reduce(false) { try fell($1, writer) || $0 }
  }
}
