import GRDB
import TernCore
import TernDatabase

extension InboxWriter {
  /// Deletes a row that is kept out, for everybody, as the app would delete it were it shown: what
  /// its foreign keys declare becomes of the rows that refer to it.
  ///
  /// - Throws: ``InboxError``, also where rows refer to it that may not be without it.
  func discard(_ entry: InboxEntry) throws {
    // What was written before is not told from what is written below.
    _ = try Seal.run(in: transaction)
    let (sql, row) = try Inbox(transaction).row(of: entry, for: .discard)
    if try TableWriter(transaction, sql, hasHeld: true).read(row.key) != nil {
      return try write(sql.delete, entry.key, sql)
    }
    let discarding = try Discarding(row, sql, self)
    for row in discarding.rows { try delete(row) }
    // One that cannot be shown without its parent either waits on, and has an entry.
    try noteShown(discarding.released.map { try put($0.row.id, $0.row.sql, with: $0.values) })
    for row in discarding.rows { try noteDelete(of: row) }
  }

  /// Nobody waits for it, and nothing is held of it.
  private func delete(_ row: HeldRow) throws {
    try transaction.held.wake(row.id.table, row.id.key)
    try transaction.held.drop(in: .held, row.id.table, row.id.key)
    try transaction.dismissed.forget(row.id)
  }

  /// What the triggers note of a row that an app deletes.
  private func noteDelete(of row: HeldRow) throws {
    let note = row.sql.note
    let key = try row.id.key.withUnsafeBytes { try PackedKey.values($0) }
    let keys = key.indices.map { "?\($0 + 1)" }
    let insert = try transaction.statement(
      note.noteEach(masks: note.noColumns(), keys: keys, ""))
    for (index, value) in key.enumerated() { insert.bind(Int32(index + 1), copy: value) }
    try insert.run()
    guard row.sql.shape.deletes.keepsContent else { return }
    let columns = note.goneColumns.filter { row.content[$0.column] != nil }
    let values = key + columns.map { row.content[$0.column]! }
    let keep = try transaction.statement(
      "INSERT INTO \(note.goneTable) (\((note.keyNames + columns.map(\.name)).joined(separator: ", "))) "
        + "VALUES (\(values.indices.map { "?\($0 + 1)" }.joined(separator: ", ")))")
    for (index, value) in values.enumerated() { keep.bind(Int32(index + 1), copy: value) }
    try keep.run()
  }
}

/// A row that is in the state and not in its table.
private struct HeldRow {
  let id: RowID
  let sql: TableSQL
  let content: [String: SQLiteValue]
}

/// What becomes of the rows that wait for one which is discarded, and of those that wait for these.
/// No row in a table refers to it: it would be kept out too.
private struct Discarding {
  private let writer: InboxWriter
  private var transaction: StoreTransaction { writer.transaction }
  /// All that are deleted.
  private(set) var rows: [HeldRow]
  /// Those that go on without their parent, and the values by which they do.
  private(set) var released: [(row: HeldRow, values: [String: SQLiteValue])] = []
  private var held: [Int64: [HeldRow]] = [:]

  init(_ row: RowID, _ sql: TableSQL, _ writer: InboxWriter) throws {
    self.writer = writer
    rows = []
    guard let first = try heldRows(of: sql).first(where: { $0.id == row }) else { return }
    rows = [first]
    var going: Set = [row]
    var values: [RowID: (row: HeldRow, values: [String: SQLiteValue])] = [:]
    var others: [RowID] = []
    var index = 0
    while index < rows.count {
      for (child, foreignKey) in try children(of: rows[index]) {
        if foreignKey.onDelete == "CASCADE" {
          if going.insert(child.id).inserted { rows.append(child) }
        } else if child.sql.shape.isReleased(foreignKey) {
          let released = try child.sql.shape.released(foreignKey, writer.transaction.db)
          values[child.id, default: (child, [:])].values.merge(released) { $1 }
        } else {
          others.append(child.id)
        }
      }
      index += 1
    }
    released = values.filter { !going.contains($0.key) }.map(\.value)
    if let other = others.first(where: { !going.contains($0) }) {
      let name = transaction.sql.first { $0.shape.id == other.table }?.shape.name ?? ""
      throw InboxError(
        .refused,
        "the row \(try writer.list([other.key])) in “\(name)” refers to it and may not be without it; "
          + "discard that first, or show it with another parent")
    }
  }

  private mutating func heldRows(of sql: TableSQL) throws -> [HeldRow] {
    if let known = held[sql.shape.id] { return known }
    let select = try transaction.statement(
      "SELECT key, content FROM \(transaction.tables.held) WHERE tbl = ? "
        + "AND reason NOT IN ('\(HeldReason.incomplete)', '\(HeldReason.removal)') "
        + "AND \(HeldReason.isOutOfTable) ORDER BY key")
    select.bind(1, sql.shape.id)
    var rows: [HeldRow] = []
    try select.each {
      rows.append(
        HeldRow(
          id: RowID(table: sql.shape.id, key: Array(select.blob(0))), sql: sql,
          content: sql.shape.present(try HeldTable.readContent(select.blob(1)))))
    }
    held[sql.shape.id] = rows
    return rows
  }

  /// The rows that wait for one, each with the foreign key by which it does.
  private mutating func children(of parent: HeldRow) throws
    -> [(row: HeldRow, foreignKey: TableShape.ForeignKey)]
  {
    let shape = parent.sql.shape
    let values = try shape.values(parent.id.key, parent.content)
    var found: [(row: HeldRow, foreignKey: TableShape.ForeignKey)] = []
    for sql in transaction.sql {
      let keys = sql.shape.foreignKeys.filter { $0.parent.folded == shape.name.folded }
      if keys.isEmpty { continue }
      for child in try heldRows(of: sql) where child.id != parent.id {
        let named = try sql.shape.values(child.id.key, child.content)
        for foreignKey in keys {
          let (refers, holds) = (
            foreignKey.columns.map { named[$0.folded] ?? .null },
            foreignKey.parentColumns.map { values[$0.folded] ?? .null }
          )
          guard refers == holds, !refers.contains(.null),
            try isMissing(refers, foreignKey)
          else { continue }
          found.append((child, foreignKey))
        }
      }
    }
    return found
  }

  /// Whether no other row, which is shown, is the parent.
  private func isMissing(_ refers: [SQLiteValue], _ foreignKey: TableShape.ForeignKey) throws
    -> Bool
  {
    let match = foreignKey.parentColumns.map { "\($0.quoted) = ?" }.joined(separator: " AND ")
    let select = try transaction.statement(
      "SELECT 1 FROM main.\(foreignKey.parent.quoted) WHERE \(match)")
    for (index, value) in refers.enumerated() { select.bind(Int32(index + 1), copy: value) }
    return try select.first {} == nil
  }
}
