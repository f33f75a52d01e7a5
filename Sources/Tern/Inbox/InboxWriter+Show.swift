import GRDB
import TernCore
import TernDatabase

extension InboxWriter {
  /// Shows a row that is kept out, with other values in some columns: those alone are a write of
  /// this device.
  ///
  /// - Throws: ``InboxError``, also where the row cannot be shown with these values either.
  func show(_ entry: InboxEntry, with values: [String: SQLiteValue]) throws {
    // What was written before is not told from what is written below.
    _ = try Seal.run(in: transaction)
    let (sql, row) = try Inbox(transaction).row(of: entry, for: .show)
    let values = try named(values, sql.shape)
    let writer = try TableWriter(transaction, sql, hasHeld: true)
    if entry.kind == .veiled { return try showVeiled(entry, with: values, row, writer) }
    if let content = try writer.read(row.key) {
      // Its table would take it, and the seal would fold it again.
      if entry.kind == .folded,
        let refusal = try collision(row, content.merging(values) { $1 }, writer)
      {
        throw refusal
      }
      let names = values.keys.sorted()
      if !names.isEmpty { try write(sql.update(names), entry.key + names.map { values[$0]! }, sql) }
      return
    }
    let shown = try put(row, sql, with: values)
    if let refusal = shown.refusal { throw refusal }
    try noteShown([shown])
  }

  /// Gives a row another parent, or has it be without one for everybody: that is a write, also of
  /// what it shows already.
  private func showVeiled(
    _ entry: InboxEntry, with values: [String: SQLiteValue], _ row: RowID, _ writer: TableWriter
  ) throws {
    guard let veil = try writer.veil(of: row.key), let shown = try writer.readShown(row.key) else {
      return
    }
    var values = values
    if values.isEmpty { for column in veil.columns { values[column.name] = column.shown } }
    let written = veil.references.filter { $0.contains { values[$0.name] != nil } }
    for column in written.joined() where values[column.name] == nil {
      values[column.name] = column.shown
    }
    if let refusal = try collision(row, shown.merging(values) { $1 }, writer) { throw refusal }
    let names = values.keys.sorted()
    try write(writer.sql.update(names), entry.key + names.map { values[$0]! }, writer.sql)
    try writer.veils.unveil(names, of: row.key)
    try transaction.dismissed.forget(row)
  }

  /// By the columns as the table spells them.
  private func named(_ values: [String: SQLiteValue], _ shape: TableShape) throws
    -> [String: SQLiteValue]
  {
    let names = Dictionary(
      (shape.columns.map(\.name) + shape.localColumns).map { ($0.folded, $0) }
    ) { name, _ in name }
    var named: [String: SQLiteValue] = [:]
    for (column, value) in values {
      guard let name = names[column.folded] else {
        throw InboxError(
          .refused,
          "table “\(shape.name)” has no column “\(column)” that can be written, or it is part of the "
            + "key; to give the row another key, discard it and insert one")
      }
      named[name] = value
    }
    return named
  }

  /// A row that is in its table now, or why it is not.
  struct Shown {
    let key: [SQLiteValue]
    let sql: TableSQL
    /// The columns that have another value.
    let changed: Set<String>
    var refusal: InboxError?
  }

  /// Writes a row into its table as a merge would: what stands in the state is no write of
  /// anybody's.
  func put(_ row: RowID, _ sql: TableSQL, with values: [String: SQLiteValue]) throws -> Shown {
    let writer = try TableWriter(transaction, sql, hasHeld: true)
    let held = try writer.aside(row.key) ?? [:]
    let content = held.merging(values) { $1 }
    var shown = Shown(
      key: try row.key.withUnsafeBytes { try PackedKey.values($0) }, sql: sql,
      changed: Set(values.keys.filter { values[$0] != held[$0] }))
    shown.refusal = try collision(row, content, writer)
    if shown.refusal != nil { return shown }
    try transaction.triggers.merging {
      guard try writer.show(row.key, content: content) == nil else {
        let reason = writer.refusal ?? "a constraint of the table failed"
        shown.refusal = InboxError(
          .refused, "the row \(shown.key) in “\(sql.shape.name)” cannot be shown so: \(reason)")
        return
      }
      try transaction.held.drop(in: .held, row.table, row.key)
      writer.tellShown()
    }
    try transaction.dismissed.forget(row)
    return shown
  }

  /// Has the seal find what is new in rows that were shown, and nothing else.
  func noteShown(_ rows: [Shown]) throws {
    for sql in transaction.sql { try transaction.notes.forget(sql) }
    for row in rows where row.refusal == nil {
      try noteWrite(of: row.changed, row.key, row.sql)
      try transaction.notifyChanges(in: row.sql.shape)
    }
  }

  /// What is in the way of a row with some values, by name.
  private func collision(_ row: RowID, _ content: [String: SQLiteValue], _ writer: TableWriter)
    throws -> InboxError?
  {
    let shape = writer.sql.shape
    let key = try row.key.withUnsafeBytes { try PackedKey.values($0) }
    let missing = try LoggedRow(shape, key: key).missingParents(content, in: transaction)
    if !missing.isEmpty {
      let names = missing.map { "\($0)" }.joined(separator: "; ")
      return InboxError(
        .parentDeleted,
        "the row \(key) in “\(shape.name)” refers to what is not there: \(names); give it another in "
          + "these columns, or NULL, or insert that first")
    }
    let rivals = try writer.rivals(of: row.key, content: content)
    if rivals.isEmpty { return nil }
    return InboxError(
      .refused,
      "the row \(key) in “\(shape.name)” has its place in a UNIQUE index taken by \(try list(rivals)); "
        + "give it other values, or change those that are there")
  }
}
