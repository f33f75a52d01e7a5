import Foundation
import TernCore

/// Why a table cannot sync as it is, or several can't: ``others``. Nothing of the database was
/// changed but what the migrator did.
public struct SchemaError: Error, Hashable, Sendable {
  public struct Code: Hashable, Sendable {
    package enum Reason: String, Sendable {
      case missingTable, notATable, duplicateTable, noPrimaryKey, integerRowIDKey, nullableKey
      case unsupportedKey, uniqueBesideKey, unknownColumn, unsupportedRule, localWithoutDefault
      case changedKey, changedRule, otherReplica, newerFormat, ambiguousColumn, renamedTable
      case unsupportedReference, unsupportedPointer
    }
    package let reason: Reason

    /// The schema names a table that the database does not have.
    package static let missingTable = Code(reason: .missingTable)
    /// Views, virtual and temporary tables cannot sync.
    package static let notATable = Code(reason: .notATable)
    /// The schema names the table twice, or as what two tables were renamed from.
    package static let duplicateTable = Code(reason: .duplicateTable)
    /// Rows have no identity that every device agrees on.
    package static let noPrimaryKey = Code(reason: .noPrimaryKey)
    /// Two devices give the same rowid to different rows.
    package static let integerRowIDKey = Code(reason: .integerRowIDKey)
    /// A key column can hold NULL, which names no row.
    package static let nullableKey = Code(reason: .nullableKey)
    /// A key column's type or collation makes keys equal that are not the same bytes.
    package static let unsupportedKey = Code(reason: .unsupportedKey)
    /// A UNIQUE index that devices cannot decide alike: over a part of the rows, an expression, or
    /// a column that is generated, local or not merged by the last writer.
    package static let uniqueBesideKey = Code(reason: .uniqueBesideKey)
    /// A column refers to one of a synced table that is declared with another type, which SQLite
    /// converts as a row is deleted.
    package static let unsupportedReference = Code(reason: .unsupportedReference)
    /// The column by which rows are folded is not declared as that needs it.
    package static let unsupportedPointer = Code(reason: .unsupportedPointer)
    /// The schema names a column that the table does not have, or a key or generated column.
    package static let unknownColumn = Code(reason: .unknownColumn)
    /// Two columns' names differ in how an accent is written, and in nothing else.
    package static let ambiguousColumn = Code(reason: .ambiguousColumn)
    /// The column is not declared as its merge rule needs it, or holds what the rule cannot read.
    package static let unsupportedRule = Code(reason: .unsupportedRule)
    /// Rows that arrive would have no value for a local column.
    package static let localWithoutDefault = Code(reason: .localWithoutDefault)
    /// Rows were synced under another primary key.
    public static let changedKey = Code(reason: .changedKey)
    /// Values or deletes were merged by another rule. A new column for the new one begins empty:
    /// what a migration fills into a counter, every device counts as its own.
    public static let changedRule = Code(reason: .changedRule)
    /// A synced table is gone, and this one has its key, its columns and rows of it, or
    /// ``SyncTable/formerNames`` says what isn't so. Every device would adopt the rows of a table
    /// that was renamed as its own: counters would be added up, old values written anew.
    package static let renamedTable = Code(reason: .renamedTable)
    /// Another replica in the same database already syncs the table, or one that it refers to by a
    /// foreign key, or one that refers to it.
    public static let otherReplica = Code(reason: .otherReplica)
    /// A newer Tern stored a rule that this one does not know.
    public static let newerFormat = Code(reason: .newerFormat)
  }

  public let code: Code
  public let table: String
  public let column: String?
  /// What is wrong and the way out.
  public let message: String
  /// What else the same opening found, so that all can be put right at once: at most one of each
  /// key and column, and what can't be looked for before these are right is not among them.
  public package(set) var others: [SchemaError] = []

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
    return (["\(place): \(message)"] + others.map(\.description)).joined(separator: "\n")
  }
}

extension SchemaError: AdvisingError {
  /// The schema or the table has to change first.
  public var advice: FailureAdvice { .permanent }
}

extension SchemaError: LocalizedError {}

extension SchemaError.Code: CustomStringConvertible {
  public var description: String { reason.rawValue }
}
