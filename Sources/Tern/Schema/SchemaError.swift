import TernCore

/// Why a table can not sync as it is. Nothing of the database was changed but what the migrator did.
public struct SchemaError: Error, Hashable, Sendable {
  public struct Code: Hashable, Sendable {
    package enum Reason: String, Sendable {
      case missingTable, notATable, duplicateTable, noPrimaryKey, integerRowIDKey, nullableKey
      case unsupportedKey, uniqueBesideKey, unknownColumn, unsupportedRule, localWithoutDefault
      case changedKey, changedRule, otherReplica, newerFormat
    }
    package let reason: Reason

    /// The schema names a table that the database does not have.
    public static let missingTable = Code(reason: .missingTable)
    /// Views, virtual and temporary tables can not sync.
    public static let notATable = Code(reason: .notATable)
    public static let duplicateTable = Code(reason: .duplicateTable)
    public static let noPrimaryKey = Code(reason: .noPrimaryKey)
    /// Two devices give the same rowid to different rows.
    public static let integerRowIDKey = Code(reason: .integerRowIDKey)
    public static let nullableKey = Code(reason: .nullableKey)
    /// A key column's type or collation makes keys equal that are not the same bytes.
    public static let unsupportedKey = Code(reason: .unsupportedKey)
    public static let uniqueBesideKey = Code(reason: .uniqueBesideKey)
    /// The schema names a column that the table does not have, or a key or generated column.
    public static let unknownColumn = Code(reason: .unknownColumn)
    public static let unsupportedRule = Code(reason: .unsupportedRule)
    public static let localWithoutDefault = Code(reason: .localWithoutDefault)
    public static let changedKey = Code(reason: .changedKey)
    public static let changedRule = Code(reason: .changedRule)
    /// Another replica in the same database already syncs the table.
    public static let otherReplica = Code(reason: .otherReplica)
    /// A newer Tern made this database.
    public static let newerFormat = Code(reason: .newerFormat)
  }

  public let code: Code
  public let table: String
  public let column: String?
  /// What is wrong and the way out.
  public let message: String

  package init(_ code: Code, table: String, column: String? = nil, _ message: String) {
    self.code = code
    self.table = table
    self.column = column
    self.message = message
  }
}

extension SchemaError: CustomStringConvertible {
  public var description: String {
    let place = column.map { "column “\($0)” of table “\(table)”" } ?? "table “\(table)”"
    return "\(place): \(message)"
  }
}

extension SchemaError: AdvisingError {
  /// The schema or the table has to change first.
  public var advice: FailureAdvice { .permanent }
}
