import TernCore
import TernDatabase

extension TableWriter {
  var veils: VeiledRows { VeiledRows(writer: self) }

  func veil(of key: some ContiguousBytesLike) throws -> Veil? {
    try hasHeld ? transaction.veils.veil(of: key, sql.shape) : nil
  }
}

/// Rows of a table that are shown without what they refer to.
struct VeiledRows {
  let writer: TableWriter
  private var transaction: StoreTransaction { writer.transaction }
  private var table: Int64 { writer.sql.shape.id }

  /// Has a row in its table show what a veil says.
  ///
  /// - Parameter lifted: what it shows again of a veil before.
  /// - Returns: why the table refuses that. The row is as it was then.
  func lay(_ veil: Veil, on key: [UInt8], over lifted: [String: SQLiteValue]) throws -> HeldReason?
  {
    if let reason = try writer.put(key, veil.laid(over: lifted), .update) { return reason }
    try note(veil, on: key)
    try writer.noteWritten(key)
    return nil
  }

  /// A row was written to its table as a veil says.
  func note(_ veil: Veil, on key: [UInt8]) throws {
    writer.hasHeld = true
    let row = RowID(table: table, key: key)
    // The column's type may have made another value of a default.
    let shown =
      veil.columns.allSatisfy { $0.shown == .null } ? [:] : try writer.readShown(key) ?? [:]
    try transaction.veils.put(
      Veil(
        references: veil.references.map { columns in
          columns.map {
            Veil.Column(name: $0.name, held: $0.held, shown: shown[$0.name] ?? .null)
          }
        }), on: row)
    if writer.folds, try transaction.held.reason(of: row) == .folded { return }
    try transaction.held.hold(row.table, key, .veiled, content: [:])
  }

  /// Has a row in its table show again what the state has of it, or quarantines it where the table
  /// refuses that.
  func lift(_ veil: Veil, from key: [UInt8], showing shown: [String: SQLiteValue]? = nil) throws {
    guard let shown = try shown ?? writer.readShown(key) else { return try drop(key) }
    let content = veil.columnsShown(in: shown).reduce(into: [:]) { $0[$1.name] = $1.held }
    if !content.isEmpty, let reason = try writer.put(key, content, .update) {
      return try writer.hold(key, reason, adding: [:])
    }
    try drop(key)
    try writer.noteWritten(key)
  }

  /// Columns of a row in its table are written with intent, also with what its veil shows, which
  /// is no write otherwise: their references are veiled no longer, and the seal finds them.
  func unveil(_ columns: some Collection<String>, of key: [UInt8]) throws {
    guard let veil = try writer.veil(of: key) else { return }
    let written = veil.references.filter { $0.contains { columns.contains($0.name) } }
    if written.isEmpty { return }
    try drop(key)
    let left = veil.references.filter { !written.contains($0) }
    if !left.isEmpty { try note(Veil(references: left), on: key) }
    try noteWrite(of: Set(written.joined().map(\.name)), key)
  }

  /// Has the seal find some columns of a row written by this device.
  func noteWrite(of names: Set<String>, _ key: [UInt8]) throws {
    let sql = writer.sql
    let columns = sql.shape.columns.filter { names.contains($0.name) }
    if columns.isEmpty { return }
    let match = sql.shape.keyColumns.enumerated().map { "\($1.quoted) = ?\($0 + 1)" }
    let note = try transaction.statement(
      sql.note.noteEach(
        masks: sql.note.masks(of: columns), keys: sql.shape.keyColumns.map(\.quoted),
        "FROM \(sql.shape.qualifiedName) WHERE \(match.joined(separator: " AND "))"))
    _ = try writer.bind(key, to: note)
    try note.run()
  }

  /// Notes of a row in its table that it is folded no longer.
  func noteUnfolded(_ key: [UInt8]) throws {
    try transaction.held.release(.folded, table, key)
    if try writer.veil(of: key) != nil {
      try transaction.held.hold(table, key, .veiled, content: [:])
    }
  }

  /// Forgets the veil of a row that went, or of which every column is written.
  func drop(_ key: some ContiguousBytesLike) throws {
    guard writer.hasHeld, try transaction.veils.hasRows() else { return }
    try transaction.veils.drop(table, key)
    try transaction.held.release(.veiled, table, key)
  }
}
