import Foundation
import TernCore

/// Why a table cannot be re-keyed. Nothing of the database was changed.
public struct RekeyError: Error, Hashable, Sendable {
  public struct Code: Hashable, Sendable {
    package enum Reason: String, Sendable {
      case missingTable, notATable, noIntegerKey, synced, keyIsReference, otherReference
      case unknownColumn, columnExists, referenceDefault, generatedReference, contentOfSearch
      case notANumber, missingRow, unnamedRow, sameRow, refusedRow, unreadableDeclaration
      case keylessTrigger
    }
    package let reason: Reason

    /// The database has no such table.
    package static let missingTable = Code(reason: .missingTable)
    /// A view, a virtual table, or one of SQLite's or Tern's own.
    package static let notATable = Code(reason: .notATable)
    /// The key is not one integer column: also after the table was re-keyed.
    package static let noIntegerKey = Code(reason: .noIntegerKey)
    /// The table, or one that refers to it, syncs already, so that other devices have its values.
    package static let synced = Code(reason: .synced)
    /// The key refers to another table, whose keys it shares: that one has to be re-keyed.
    package static let keyIsReference = Code(reason: .keyIsReference)
    /// A column that refers to the table refers to another one too.
    package static let otherReference = Code(reason: .otherReference)
    /// A column that is named does not exist.
    package static let unknownColumn = Code(reason: .unknownColumn)
    /// The key that a table without one would get has the name of a column.
    package static let columnExists = Code(reason: .columnExists)
    /// A column that refers to the table has a default, which would stay a number.
    package static let referenceDefault = Code(reason: .referenceDefault)
    /// A column that refers to the table is computed from others.
    package static let generatedReference = Code(reason: .generatedReference)
    /// A full-text table finds its content by the integer key.
    package static let contentOfSearch = Code(reason: .contentOfSearch)
    /// A row's key is NULL or no whole number.
    package static let notANumber = Code(reason: .notANumber)
    /// Rows refer to rows that are not there.
    package static let missingRow = Code(reason: .missingRow)
    /// A row has NULL in a column from which its identifier would be derived.
    package static let unnamedRow = Code(reason: .unnamedRow)
    /// Two rows have the same in all columns from which their identifiers would be derived.
    package static let sameRow = Code(reason: .sameRow)
    /// A constraint refuses a row that holds an identifier in place of its number.
    package static let refusedRow = Code(reason: .refusedRow)
    /// What SQLite keeps of the table's declaration could not be taken over without loss.
    package static let unreadableDeclaration = Code(reason: .unreadableDeclaration)
    /// A trigger inserts rows without the key, for which SQLite makes none any more.
    package static let keylessTrigger = Code(reason: .keylessTrigger)
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

extension RekeyError: CustomStringConvertible {
  public var description: String {
    let place = column.map { "column “\($0)” of table “\(table)”" } ?? "table “\(table)”"
    return "\(place): \(message)"
  }
}

extension RekeyError: AdvisingError {
  /// The schema, the rows or the call has to change first.
  public var advice: FailureAdvice { .permanent }
}

extension RekeyError: LocalizedError {}

extension RekeyError.Code: CustomStringConvertible {
  public var description: String { reason.rawValue }
}
