import GRDB
import TernCore
import TernDatabase

extension InboxWriter {
  /// Writes an entry's values as the app would: into the row, or with what is kept of it as a new
  /// one.
  ///
  /// - Parameter other: the key of the row to write to, where it is another one.
  /// - Throws: ``InboxError``, and `DatabaseError` for what the table refuses.
  func restore(_ entry: InboxEntry, into other: [SQLiteValue]?) throws {
    let (sql, _) = try Inbox(transaction).row(of: entry, for: .restore)
    try Inbox(transaction).remove(entry)
    let values = other ?? entry.key
    let key = PackedKey.bytes(of: values)
    let writer = try TableWriter(transaction, sql, hasHeld: true)
    guard try !transaction.held.holds(sql.shape.id, key) else {
      throw InboxError(
        .quarantined,
        "the row is quarantined, because a constraint refuses it or its parent is missing; see to "
          + "that first: Replica.explain says what it is")
    }
    let isThere = try writer.read(key) != nil
    guard isThere || other == nil else {
      throw InboxError(
        .missingRow,
        "table “\(entry.table)” has no row with the given key; restore into one that is there")
    }
    let kept = isThere ? nil : try transaction.held.content(in: .kept, sql.shape.id, key)
    var content = (kept.map(sql.shape.present) ?? [:]).merging(entry.values) { $1 }
    // As its deleted parents would have left it: the table takes it with none of them.
    if !isThere {
      _ = try release(&content, of: key, sql, Settlement(transaction, writers: [:]).parents)
    }
    content = try RivalSearch(writer: writer).folded(content, into: key)
    let names = content.keys.sorted()
    try write(
      isThere ? sql.update(names) : sql.upsert(names), values + names.map { content[$0]! }, sql)
    if isThere { try writer.veils.unveil(names, of: key) }
  }

  // MARK: - Children of deleted parents

  /// Shows a child of a deleted parent again: as its foreign key declares, without the parent, or
  /// with the parent where something is kept of that. Foreign keys are off.
  func restoreChild(_ entry: InboxEntry) throws {
    // What was written before is not told from what triggers write below.
    _ = try Seal.run(in: transaction)
    let (sql, row) = try Inbox(transaction).row(of: entry, for: .restore)
    if entry.kind == .veiled { return try restoreParents(of: row, sql) }
    let key = row.key
    var content = sql.shape.present(
      try transaction.held.content(in: .held, row.table, key) ?? [:])
    let settlement = try Settlement(transaction, writers: [:])
    let (released, parents) = try release(&content, of: key, sql, settlement.parents)
    for parent in parents { try bringBack(parent, settlement) }
    // Nor is what was brought back.
    _ = try Seal.run(in: transaction)
    try transaction.triggers.merging { try showChild(key, content, sql) }
    try transaction.dismissed.forget(row)
    if !released.isEmpty { try noteWrite(of: released, entry.key, sql) }
    try transaction.notifyChanges(in: sql.shape)
    guard try !settlement.lacksParent(key, settlement.writer(sql)) else {
      throw InboxError(
        .parentDeleted, "the row refers to more rows that are not there; insert those first")
    }
  }

  /// Has a row be without its deleted parents where its foreign keys declare that.
  ///
  /// - Returns: the columns that are others then, and the other deleted parents.
  private func release(
    _ content: inout [String: SQLiteValue], of key: [UInt8], _ sql: TableSQL,
    _ parents: DeletedParents
  ) throws -> (columns: Set<String>, parents: [DeletedParents.Reference]) {
    var columns: Set<String> = []
    let deleted = try parents.references(of: key, content, sql.shape).filter(parents.isDeleted)
    let others = Dictionary(
      deleted.filter { !sql.shape.isReleased($0.foreignKey) }
        .map { (RowID(table: $0.parent.shape.id, key: $0.key), $0) }, uniquingKeysWith: { $1 })
    for reference in deleted
    where others[RowID(table: reference.parent.shape.id, key: reference.key)] == nil {
      let released = try sql.shape.released(reference.foreignKey, transaction.db)
      content.merge(released) { $1 }
      columns.formUnion(released.keys)
    }
    return (columns, Array(others.values))
  }

  /// Brings back the parents without which a row is shown. It shows them again with the next
  /// settlement.
  private func restoreParents(of row: RowID, _ sql: TableSQL) throws {
    let settlement = try Settlement(transaction, writers: [:])
    let content = try settlement.writer(sql).read(row.key) ?? [:]
    var isDone = false
    for reference in try settlement.parents.references(of: row.key, content, sql.shape)
    where try settlement.parents.isDeleted(reference) {
      try bringBack(reference, settlement)
      isDone = true
    }
    if isDone { return }
    throw InboxError(
      .parentDeleted,
      "the row that it refers to is quarantined, because its own parent is deleted; restore that "
        + "one")
  }

  /// As a merge would: what stands in the state is no write of anybody's.
  private func showChild(_ key: [UInt8], _ content: [String: SQLiteValue], _ sql: TableSQL) throws {
    let writer = try TableWriter(transaction, sql, hasHeld: true)
    try transaction.held.drop(in: .held, sql.shape.id, key)
    guard try writer.write(key, content: content) == nil else {
      throw InboxError(
        .quarantined,
        "the table refuses the row: by a constraint, or for another row that has its place; see to "
          + "that first")
    }
    for sql in transaction.sql { try transaction.notes.forget(sql) }
  }

  /// Inserts a deleted parent with what is kept of it.
  private func bringBack(_ reference: DeletedParents.Reference, _ settlement: Settlement) throws {
    let sql = reference.parent
    guard let kept = try transaction.held.content(in: .kept, sql.shape.id, reference.key) else {
      throw InboxError(
        .parentDeleted,
        "the row in “\(sql.shape.name)” that it refers to is deleted, and nothing is kept of it; "
          + "insert that again, and this one is shown by itself")
    }
    let content = try RivalSearch(writer: settlement.writer(sql)).folded(
      sql.shape.present(kept), into: reference.key)
    let names = content.keys.sorted()
    let key = try reference.key.withUnsafeBytes { try PackedKey.values($0) }
    do {
      try write(sql.upsert(names), key + names.map { content[$0]! }, sql)
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      throw try refusal(of: reference, key, content, settlement.writer(sql), error)
    }
    guard try !settlement.lacksParent(reference.key, settlement.writer(sql)) else {
      throw InboxError(
        .parentDeleted,
        "the row in “\(sql.shape.name)” that it refers to lacks its own parent; insert that "
          + "first")
    }
  }
}

extension InboxWriter {
  /// Why the table does not take a deleted parent back.
  private func refusal(
    of reference: DeletedParents.Reference, _ key: [SQLiteValue], _ content: [String: SQLiteValue],
    _ writer: TableWriter, _ error: DatabaseError
  ) throws -> InboxError {
    // Where something else refused it too, it would be no use to make room.
    let isUnique = error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE
    let keys = isUnique ? try writer.rivals(of: reference.key, content: content) : []
    let parent = "the row \(key) in “\(writer.sql.shape.name)” that it refers to is deleted"
    let message =
      keys.isEmpty
      ? "\(parent), and the table refuses what is kept of it: \(error.message ?? "a constraint"); "
        + "insert one with that key that it takes, and this one is shown by itself"
      : "\(parent), and has lost its place in a UNIQUE index to \(try list(keys)); delete what is there, or change "
        + "its value, and restore the entry then"
    return InboxError(.parentRefused, message)
  }
}
