import GRDB
import TernCore
import TernDatabase

/// One row in a database file, explained without the app and its schema.
///
/// ```swift
/// let row = try DatabaseFileRow(path: "library.sqlite", table: "book", key: ["9780441013593"])
/// print(try row.explanation())
/// ```
///
/// What was written under a former name of the table is passed over, and a column is known by its
/// last name alone: only the schema has the others.
///
/// The file may be in use, and is not changed. The initialiser, ``explanation(limit:)`` and
/// ``history(after:limit:)`` read it, and block: not on the main actor. `tern explain` and
/// `tern history` print the same.
public struct DatabaseFileRow: Sendable {
  package let path: String
  /// The name of the replica that syncs the table.
  public let replica: String
  /// As the replica's catalogue has it.
  public let table: String
  public let key: [SQLiteValue]
  /// Whether the row was written since the last seal: what was written then has neither author nor
  /// time yet, and no operation tells of it.
  public let isUnsealed: Bool

  /// - Parameters:
  ///   - key: a text for each column of the primary key, in its order, read as SQLite reads what is
  ///     written to such a column; `x'…'` is a blob.
  ///   - replica: where several replicas of the database know a table of that name.
  /// - Throws: ``InspectionError``, and ``RowLookupError`` for a table that does not sync or a key
  ///   of another width.
  public init(path: String, table: String, key: [String], replica: String? = nil) throws {
    let found = try Self.read(path, table, replica: replica) { transaction, sql, name in
      let values = zip(sql.shape.keyAffinities, key).map { $0.value(of: $1) }
      let width = values + key.dropFirst(values.count).map { SQLiteValue.string($0) }
      let row = try LoggedRow(sql.shape, key: width)
      let isNoted = try NotedKeys(sql, transaction).contains(row.packedKey)
      return (name, sql.shape.name, width, isNoted)
    }
    self.path = path
    (self.replica, self.table, self.key, isUnsealed) = found
  }

  /// As ``Replica/explain(_:key:limit:)`` gives it, without a seal before.
  ///
  /// - Throws: ``InspectionError``, and ``RowLookupError``.
  public func explanation(limit: Int = 100) throws -> RowExplanation {
    try Self.read(path, table, replica: replica) { transaction, sql, _ in
      let row = try LoggedRow(sql.shape, key: key)
      var pass = ExplainPass(row, try StandingRow(row, sql, in: transaction), limit: limit)
      try pass.read(transaction)
      return try pass.explanation()
    }
  }

  /// As ``Replica/history(_:key:after:limit:)`` gives it, without a seal before.
  ///
  /// - Throws: ``InspectionError``, and ``RowLookupError``.
  public func history(after position: RowHistory.Position? = nil, limit: Int = 100) throws
    -> RowHistory
  {
    try Self.read(path, table, replica: replica) { transaction, sql, _ in
      try HistoryPass(transaction, LoggedRow(sql.shape, key: key))
        .page(after: position, limit: limit)
    }
  }

  private static func read<Found>(
    _ path: String, _ table: String, replica: String?,
    _ body: (StoreTransaction, TableSQL, _ replica: String) throws -> Found
  ) throws -> Found {
    // An error of the row's is no error of the file's.
    let result = try ReadOnlyFile(path: path).read { db in
      Result { () throws -> Found in
        let (transaction, sql, name) = try find(table, replica: replica, in: db, path)
        return try body(transaction, sql, name)
      }
    }
    do {
      return try result.get()
    } catch let error as DatabaseError {
      throw InspectionError(.unreadable, path: path, underlyingError: error)
    } catch let error as WireError {
      throw InspectionError(.unreadable, path: path, underlyingError: error)
    }
  }

  private static func find(
    _ table: String, replica: String?, in db: Database, _ path: String
  ) throws -> (StoreTransaction, TableSQL, String) {
    let names = try StoreTables.replicas(in: db)
    if names.isEmpty { throw InspectionError(.noReplica, path: path) }
    var known: [String] = []
    for name in names where replica?.folded ?? name == name {
      let tables = try StoreTables.stored(name: name, in: db)
      let format = try Int.fetchOne(db, sql: "SELECT format FROM \(tables.replica)")
      if let format, format > StoreTables.format {
        throw InspectionError(.newerFormat, path: path)
      }
      let sql = try InstalledTable.statements(db, tables) { installed, error in
        // One that a migration left without its replica is no matter of another table's.
        guard installed.name.folded == table.folded else { return }
        throw RowLookupError(.unknownTable, table: table, error.message)
      }
      if let found = sql.first(where: { $0.shape.name.folded == table.folded }) {
        return (try StoreTransaction(db, tables: tables, sql: sql), found, name)
      }
      known += sql.map(\.shape.name)
    }
    throw RowLookupError(
      .unknownTable, table: table,
      "no replica in the file syncs it; those that sync are \(known.sorted().joined(separator: ", "))"
    )
  }
}

extension Affinity {
  /// What a column of this affinity makes of a text.
  fileprivate func value(of text: String) -> SQLiteValue {
    if text.hasPrefix("x'"), text.hasSuffix("'"), let blob = Self.blob(text.dropFirst(2).dropLast())
    {
      return .blob(blob)
    }
    if self == .integer, let number = Int64(text) { return .integer(number) }
    return .string(text)
  }

  private static func blob(_ digits: Substring) -> [UInt8]? {
    let digits = Array(digits.utf8)
    guard digits.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      let pair = String(decoding: digits[index..<index + 2], as: UTF8.self)
      guard pair.allSatisfy(\.isHexDigit), let byte = UInt8(pair, radix: 16) else { return nil }
      bytes.append(byte)
    }
    return bytes
  }
}
