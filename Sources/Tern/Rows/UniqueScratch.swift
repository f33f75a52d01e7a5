import GRDB
import TernCore
import TernDatabase

/// Has SQLite say where a row that is in no table would stand in the computed UNIQUE indexes of its
/// table.
///
/// The row is put into a table with the same columns, types, collations and generated columns, and
/// without constraints. That stands in a database in memory: the app's connection may be one
/// that only reads, and a temporary table would end its other statements and could hide a table of
/// the app's. All that such an index may use is SQLite's own, and so is the same there
/// (Docs/Design/0054).
final class UniqueScratch {
  private let database: DatabaseQueue
  private let uniques: [TableShape.Unique]

  /// - Parameter shape: whose rows are asked about.
  init(_ shape: TableShape) throws {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    database = try DatabaseQueue(configuration: configuration)
    uniques = shape.uniques
    try database.inDatabase { db in
      for (number, unique) in uniques.enumerated() {
        if let computed = unique.computed {
          try db.execute(sql: Self.creation(number, unique, computed))
        }
      }
    }
  }

  private static func creation(
    _ number: Int, _ unique: TableShape.Unique, _ computed: TableShape.ComputedIndex
  ) -> String {
    func column(_ name: String, _ affinity: Affinity, _ collation: String) -> String {
      "\(name.quoted) \(affinity.typeName) COLLATE \(collation.quoted)"
    }
    let columns = unique.columns.map { column($0.name, $0.affinity, $0.collation) }
    let generated = computed.generated.map {
      column($0.name, $0.affinity, $0.collation) + " AS (\($0.expression.sql))"
    }
    return "CREATE TABLE row\(number) (\((columns + generated).joined(separator: ", ")))"
  }

  /// The values of a row's terms in the index with a number.
  ///
  /// - Parameter values: by folded name, of each column that the index's expressions name.
  /// - Returns: `nil` where the row collides with none: it is not in the index, has NULL there, or
  ///   SQLite can't compute it, so that no table takes the row.
  func terms(of values: [String: SQLiteValue], in number: Int) throws -> [SQLiteValue]? {
    let unique = uniques[number]
    guard let computed = unique.computed else { return nil }
    let names = unique.columns.map(\.name)
    let parameters = names.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
    let condition = computed.condition.map { "(\($0.sql)) IS TRUE" } ?? "1"
    let terms = computed.terms.map { "(\($0.expression.sql))" }
    do {
      return try database.inDatabase { db in
        try FastStatement(db, "DELETE FROM row\(number)").run()
        let insert = try FastStatement(
          db,
          "INSERT INTO row\(number) (\(names.map(\.quoted).joined(separator: ", "))) "
            + "VALUES (\(parameters))")
        for (index, name) in names.enumerated() {
          insert.bind(Int32(index + 1), copy: values[name.folded] ?? .null)
        }
        try insert.run()
        let select = try FastStatement(
          db, "SELECT \(([condition] + terms).joined(separator: ", ")) FROM row\(number)")
        defer { select.reset() }
        guard try select.step(), select.bool(0) else { return nil }
        let found = terms.indices.map { select.value(Int32($0 + 1)).value ?? .null }
        return found.contains(.null) ? nil : found
      }
    } catch let error as DatabaseError
      where [.SQLITE_ERROR, .SQLITE_TOOBIG].contains(error.resultCode)
    {
      return nil
    }
  }
}

extension Affinity {
  /// A type that gives it.
  fileprivate var typeName: String {
    switch self {
    case .integer: "INTEGER"
    case .text: "TEXT"
    case .blob: "BLOB"
    case .real: "REAL"
    case .numeric: "NUMERIC"
    }
  }
}
