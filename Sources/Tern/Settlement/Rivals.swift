import TernCore
import TernDatabase

extension TableWriter {
  /// The keys of the rows in the table that keep out one with this key and content.
  func rivals(of key: [UInt8], content: [String: SQLiteValue]) throws -> [[UInt8]] {
    try RivalSearch(writer: self).rivals(of: key, content: content)
  }
}

/// Looks for the rows that have the places which a row would have in the UNIQUE indexes of its
/// table.
struct RivalSearch {
  let writer: TableWriter
  private var sql: TableSQL { writer.sql }
  private var transaction: StoreTransaction { writer.transaction }

  /// The row that another is folded into: the earliest of its rivals.
  func winner(over key: [UInt8], content: [String: SQLiteValue]) throws -> [UInt8]? {
    let rivals = try rivals(of: key, content: content)
    if rivals.count < 2 { return rivals.first }
    return try rivals.map { (key: $0, creation: try writer.creation(of: $0)) }
      .min { $0.creation < $1.creation }?.key
  }

  /// What is written of a row, as the app would write it, so that its table takes it where rows are
  /// folded: it points to the row that has its place. The seal sees to which of them it should be.
  func folded(_ content: [String: SQLiteValue], into key: [UInt8]) throws -> [String: SQLiteValue] {
    guard sql.shape.pointer != nil,
      let winner = try winner(
        over: key, content: (writer.read(key) ?? [:]).merging(content) { $1 })
    else { return content }
    return try content.merging(sql.shape.pointing(to: winner)) { $1 }
  }

  fileprivate func rivals(of key: [UInt8], content: [String: SQLiteValue]) throws -> [[UInt8]] {
    let values = try sql.shape.values(key, content)
    var found: Set<[UInt8]> = []
    for (number, unique) in sql.shape.uniques.enumerated() {
      let select =
        try unique.computed?.isPlainBesidePointer ?? true
        ? rivals(in: unique, of: values) : rivals(inComputed: number, of: values)
      guard let select else { continue }
      defer { select.reset() }
      while try select.step() { found.insert(select.packedKey(sql.shape)) }
    }
    found.remove(key)
    return found.sorted { $0.lexicographicallyPrecedes($1) }
  }

  private func rivals(in unique: TableShape.Unique, of values: [String: SQLiteValue]) throws
    -> FastStatement
  {
    let names = sql.searched(unique).map(\.name)
    let select = try transaction.statement(
      sql.rivals(unique, absent: names.filter { values[$0.folded] == nil }))
    for (index, name) in names.enumerated() {
      if let value = values[name.folded] { select.bind(Int32(index + 1), copy: value) }
    }
    return select
  }

  /// The same for an index that computes something.
  ///
  /// - Returns: `nil` where the row collides with none.
  private func rivals(inComputed number: Int, of values: [String: SQLiteValue]) throws
    -> FastStatement?
  {
    let scratch = try writer.scratch ?? UniqueScratch(sql.shape)
    writer.scratch = scratch
    let unique = sql.shape.uniques[number]
    guard let computed = unique.computed else { return nil }
    var complete = values
    for column in unique.columns where values[column.name.folded] == nil {
      let standing = try transaction.statement("SELECT (\(column.defaultValue))")
      complete[column.name.folded] = try standing.first { standing.value(0).value ?? .null }
    }
    if let pointer = computed.pointer { complete[pointer.folded] = .null }
    guard let terms = try scratch.terms(of: complete, in: number) else { return nil }
    let select = try transaction.statement(sql.rivals(computed))
    for (index, term) in terms.enumerated() { select.bind(Int32(index + 1), copy: term) }
    return select
  }
}

extension TableSQL {
  /// Yields the keys of rows that hold given values in a UNIQUE index.
  ///
  /// - Parameter absent: columns of which no value is bound, because they stand at their default.
  fileprivate func rivals(_ unique: TableShape.Unique, absent: [String]) -> String {
    let matches = searched(unique).enumerated().map { index, column in
      let value = absent.contains(column.name) ? "(\(column.defaultValue))" : "?\(index + 1)"
      return "\(column.name.quoted) = \(value) COLLATE \(column.collation.quoted)"
    }
    return keys(where: (unique.computed?.condition.map { [$0.sql] } ?? []) + matches)
  }

  /// The columns in which values stand as they are, with the index's collations.
  fileprivate func searched(_ unique: TableShape.Unique) -> [TableShape.IndexedColumn] {
    guard let computed = unique.computed else { return unique.columns }
    return computed.terms.map { term in
      var column = unique.columns.first { $0.name.folded == term.expression.names[0].folded }!
      column.collation = term.collation
      return column
    }
  }

  /// The same of terms as the index has computed them: SQLite would make no other value of them.
  /// The WHERE is said again, and by the index's own words, for otherwise it could not be searched.
  func rivals(_ computed: TableShape.ComputedIndex) -> String {
    let condition =
      Planted.isActive(.whereOneSided)
      ? [] : computed.condition.map { ["(\($0.sql))"] } ?? []
    return keys(
      where: condition
        + computed.terms.enumerated().map { index, term in
          "(\(term.expression.sql)) COLLATE \(term.collation.quoted) = ?\(index + 1)"
        })
  }

  private func keys(where matches: [String]) -> String {
    "SELECT \(shape.keyColumns.map(\.quoted).joined(separator: ", ")) "
      + "FROM \(shape.qualifiedName) WHERE \(matches.joined(separator: " AND "))"
  }
}
