import GRDB
import TernCore
import TernDatabase

/// Restoring what an inbox entry holds, as writes of this device.
struct InboxRestore {
  private let transaction: StoreTransaction

  init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  /// Writes an entry's values as the app would: into the row, or with what is kept of it as a new
  /// one.
  ///
  /// - Parameter other: the key of the row to write to, where it is another one.
  /// - Throws: ``InboxError``, and `DatabaseError` for what the table refuses.
  func restore(_ entry: InboxEntry, into other: [SQLiteValue]?) throws {
    let sql = try restorable(entry)
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
    let content = (kept.map(sql.shape.present) ?? [:]).merging(entry.values) { $1 }
    let names = content.keys.sorted()
    try write(
      isThere ? sql.update(names) : sql.upsert(names), values + names.map { content[$0]! }, sql)
  }

  private func restorable(_ entry: InboxEntry) throws -> TableSQL {
    guard let sql = transaction.sql.first(where: { $0.shape.name.folded == entry.table.folded })
    else {
      throw InboxError(.missingTable, "table “\(entry.table)” does not sync any more")
    }
    return sql
  }

  private func write(_ statement: String, _ values: [SQLiteValue], _ sql: TableSQL) throws {
    let write = try transaction.statement(statement)
    for (index, value) in values.enumerated() { write.bind(Int32(index + 1), copy: value) }
    try transaction.notes.withoutCounting(sql) { try write.run() }
    try transaction.notifyWrite(to: sql.shape)
  }

  // MARK: - Children of deleted parents

  /// Shows a child of a deleted parent again: as its foreign key declares, without the parent, or
  /// with the parent where something is kept of that. Foreign keys are off.
  func restoreChild(_ entry: InboxEntry) throws {
    // What was written before is not told from what triggers write below.
    _ = try Seal.run(in: transaction)
    let sql = try restorable(entry)
    let key = PackedKey.bytes(of: entry.key)
    guard try transaction.held.reason(of: RowID(table: sql.shape.id, key: key)) == .orphaned,
      let held = try transaction.held.content(in: .held, sql.shape.id, key)
    else {
      throw InboxError(
        .missingEntry, "the row does not wait for a deleted parent any more; dismiss the entry")
    }
    var content = sql.shape.present(held)
    var released: Set<String> = []
    let settlement = try Settlement(transaction, writers: [:], losses: Losses(transaction))
    for reference in try settlement.references(of: key, content, sql.shape)
    where try settlement.isDeleted(reference) {
      if sql.shape.isReleased(reference.foreignKey) {
        for column in sql.shape.columns(of: reference.foreignKey) {
          content[column] = try releasedValue(column, reference.foreignKey, sql)
          released.insert(column)
        }
      } else {
        try bringBack(reference, settlement)
      }
    }
    // Nor is what was brought back.
    _ = try Seal.run(in: transaction)
    try transaction.triggers.merging { try showChild(key, content, sql) }
    if !released.isEmpty { try noteWrite(of: released, entry.key, sql) }
    try transaction.notifyChanges(in: sql.shape)
    guard try !settlement.lacksParent(key, settlement.writer(sql)) else {
      throw InboxError(
        .parentDeleted, "the row refers to more rows that are not there; insert those first")
    }
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

  /// What ON DELETE SET NULL or SET DEFAULT puts into a column.
  private func releasedValue(
    _ column: String, _ foreignKey: TableShape.ForeignKey, _ sql: TableSQL
  ) throws -> SQLiteValue {
    guard foreignKey.onDelete == "SET DEFAULT" else { return .null }
    return try transaction.db.declaredDefault(of: column, in: sql.shape.name)
  }

  /// Has the seal find some columns of a row written by this device.
  private func noteWrite(of columns: Set<String>, _ key: [SQLiteValue], _ sql: TableSQL) throws {
    let columns = sql.shape.columns.filter { columns.contains($0.name) }
    let match = sql.shape.keyColumns.enumerated().map { "\($1.quoted) = ?\($0 + 1)" }
    let note = try transaction.statement(
      sql.note.noteEach(
        masks: sql.note.masks(of: columns), keys: sql.shape.keyColumns.map(\.quoted),
        "FROM \(sql.shape.qualifiedName) WHERE \(match.joined(separator: " AND "))"))
    for (index, value) in key.enumerated() { note.bind(Int32(index + 1), copy: value) }
    try note.run()
  }

  /// Inserts a deleted parent with what is kept of it.
  private func bringBack(_ reference: Settlement.Reference, _ settlement: Settlement) throws {
    let sql = reference.parent
    guard let kept = try transaction.held.content(in: .kept, sql.shape.id, reference.key) else {
      throw InboxError(
        .parentDeleted,
        "the row in “\(sql.shape.name)” that it refers to is deleted, and nothing is kept of it; "
          + "insert that again, and this one is shown by itself")
    }
    let content = sql.shape.present(kept)
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

extension InboxRestore {
  /// Why the table does not take a deleted parent back.
  private func refusal(
    of reference: Settlement.Reference, _ key: [SQLiteValue], _ content: [String: SQLiteValue],
    _ writer: TableWriter, _ error: DatabaseError
  ) throws -> InboxError {
    // Where something else refused it too, it would be no use to make room.
    let isUnique = error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE
    let keys = isUnique ? try writer.rivals(of: reference.key, content: content) : []
    let rivals = try keys.map { rival in
      "\(try rival.withUnsafeBytes { try PackedKey.values($0) })"
    }
    let parent = "the row \(key) in “\(writer.sql.shape.name)” that it refers to is deleted"
    let message =
      rivals.isEmpty
      ? "\(parent), and the table refuses what is kept of it: \(error.message ?? "a constraint"); "
        + "insert one with that key that it takes, and this one is shown by itself"
      : "\(parent), and has lost its place in a UNIQUE index to \(rivals.joined(separator: ", ")); delete what is there, or change "
        + "its value, and restore the entry then"
    return InboxError(.parentRefused, message)
  }
}

extension TableShape {
  /// Whether a child stays without its parent, as it was declared: not where its key says which.
  fileprivate func isReleased(_ foreignKey: ForeignKey) -> Bool {
    let keys = Set(keyColumns.map(\.folded))
    return ["SET NULL", "SET DEFAULT"].contains(foreignKey.onDelete)
      && keys.isDisjoint(with: foreignKey.columns.map(\.folded))
  }

  /// As the table spells them.
  fileprivate func columns(of foreignKey: ForeignKey) -> [String] {
    let names = Set(foreignKey.columns.map(\.folded))
    return (columns.map(\.name) + localColumns).filter { names.contains($0.folded) }
  }
}
