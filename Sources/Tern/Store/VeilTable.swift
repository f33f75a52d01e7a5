import TernCore
import TernDatabase

/// What a row in its table holds and does not show, since what it refers to is deleted and the
/// reference says `ON DELETE SET NULL` or `SET DEFAULT`.
struct Veil: Equatable {
  /// The columns of each such reference.
  var references: [[Column]]

  struct Column: Equatable {
    var name: String
    /// What the state has.
    let held: SQLiteValue
    /// What the table has in its place.
    let shown: SQLiteValue

    func isShown(in content: [String: SQLiteValue]) -> Bool { content[name] ?? .null == shown }
  }

  var columns: [Column] { references.flatMap { $0 } }

  /// What the state has of a row of which the table has `content`. A reference that does not hold
  /// what the veil shows was written since, and no column of it is veiled.
  func lifted(from content: [String: SQLiteValue]) -> [String: SQLiteValue] {
    columnsShown(in: content).reduce(into: content) { $0[$1.name] = $1.held }
  }

  /// What the table has of a row of which the state has `content`.
  func laid(over content: [String: SQLiteValue]) -> [String: SQLiteValue] {
    columns.reduce(into: content) { $0[$1.name] = $1.shown }
  }

  /// What the state has of a row that is not in its table, and would have `content` there.
  func lifted(over content: [String: SQLiteValue]) -> [String: SQLiteValue] {
    columns.reduce(into: content) { $0[$1.name] = $1.held }
  }

  func columnsShown(in content: [String: SQLiteValue]) -> [Column] {
    references.filter { $0.allSatisfy { $0.isShown(in: content) } }.flatMap { $0 }
  }

  /// What is left of it where a row in its table has `content`.
  func left(in content: [String: SQLiteValue]) -> Veil? {
    let left = references.filter { $0.allSatisfy { $0.isShown(in: content) } }
    return left.isEmpty ? nil : Veil(references: left)
  }
}

/// The veils of rows in their tables, by row.
///
/// Each such row is also in ``StoreTables/held``, as one that waits for its parents: as
/// ``HeldReason/veiled``, or as one that is folded too.
final class VeilTable {
  private let connection: StoreConnection
  private var table: String { connection.tables.veil }
  /// Once that was looked up; what is dropped changes nothing of it.
  private var isAny: Bool?

  init(_ connection: StoreConnection) {
    self.connection = connection
  }

  func hasRows() throws -> Bool {
    if let isAny { return isAny }
    let found = try connection.statement("SELECT 1 FROM \(table) LIMIT 1").first {} != nil
    isAny = found
    return found
  }

  /// Under the columns' names of today.
  func veil(of key: some ContiguousBytesLike, _ shape: TableShape) throws -> Veil? {
    guard try hasRows() else { return nil }
    let select = try connection.statement(
      "SELECT content FROM \(table) WHERE tbl = ? AND key = ?")
    return try key.withBytes { key in
      select.bind(1, shape.id)
      select.bind(2, blob: key)
      defer { select.reset() }
      return try select.step() ? try Veil(select.blob(0)).present(in: shape) : nil
    }
  }

  func keys(of shape: TableShape) throws -> [[UInt8]] {
    guard try hasRows() else { return [] }
    let select = try connection.statement("SELECT key FROM \(table) WHERE tbl = ? ORDER BY key")
    select.bind(1, shape.id)
    var keys: [[UInt8]] = []
    try select.each { keys.append(Array(select.blob(0))) }
    return keys
  }

  func put(_ veil: Veil, on row: RowID) throws {
    isAny = true
    let put = try connection.statement(
      "REPLACE INTO \(table) (tbl, key, content) VALUES (?, ?, ?)")
    put.bindAll(row.table, SQLiteValue.blob(row.key), SQLiteValue.blob(veil.bytes))
    try put.run()
  }

  func drop(_ table: Int64, _ key: some ContiguousBytesLike) throws {
    let drop = try connection.statement("DELETE FROM \(self.table) WHERE tbl = ? AND key = ?")
    try key.withBytes { key in
      drop.bind(1, table)
      drop.bind(2, blob: key)
      try drop.run()
    }
  }
}

extension Veil {
  fileprivate init(_ buffer: UnsafeRawBufferPointer) throws {
    var reader = ByteReader(buffer)
    references = []
    while !reader.isAtEnd {
      let count = try reader.varint("veiled columns")
      var columns: [Column] = []
      for _ in 0..<count {
        let name = try reader.string("veiled column")
        let held = try reader.value("veiled value").value ?? .null
        columns.append(
          Column(name: name, held: held, shown: try reader.value("shown value").value ?? .null))
      }
      references.append(columns)
    }
  }

  fileprivate var bytes: [UInt8] {
    var writer = ByteWriter()
    for reference in references {
      writer.append(varint: UInt64(reference.count))
      for column in reference {
        writer.append(string: column.name)
        writer.append(column.held)
        writer.append(column.shown)
      }
    }
    return writer.bytes
  }

  /// Without columns that were dropped.
  fileprivate func present(in shape: TableShape) -> Veil? {
    let references = references.map { columns in
      columns.compactMap { column in
        shape.columns.first {
          ([$0.name] + $0.formerNames).contains { $0.folded == column.name.folded }
        }.map { Column(name: $0.name, held: column.held, shown: column.shown) }
      }
    }.filter { !$0.isEmpty }
    return references.isEmpty ? nil : Veil(references: references)
  }
}
