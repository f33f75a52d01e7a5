import Foundation
import TernCore

/// Why a row cannot be looked up or placed.
public struct RowLookupError: Error, Hashable, Sendable {
  public struct Code: Hashable, Sendable {
    package enum Reason: String, Sendable {
      case unknownTable, wrongKey, missingRow, noOrder, notAText
    }
    package let reason: Reason

    /// The schema that the replica was opened with has no such table.
    public static let unknownTable = Code(reason: .unknownTable)
    /// Another number of values than the primary key has columns, or a NULL among them.
    public static let wrongKey = Code(reason: .wrongKey)
    /// The table does not hold the row.
    public static let missingRow = Code(reason: .missingRow)
    /// The table has no column of that name, or it does not merge by ``MergeRule/order``; or
    /// several do, and none was named.
    package static let noOrder = Code(reason: .noOrder)
    /// The table has no such column, or one of another rule than `.text`.
    package static let notAText = Code(reason: .notAText)
  }

  public let code: Code
  public let table: String
  /// What is wrong and the way out.
  public let message: String

  package init(_ code: Code, table: String, _ message: String) {
    self.code = code
    self.table = table
    self.message = message
  }
}

extension RowLookupError: CustomStringConvertible {
  public var description: String { "table “\(table)”: \(message)" }
}

extension RowLookupError: AdvisingError {
  /// The call has to change first.
  public var advice: FailureAdvice { .permanent }
}

extension RowLookupError: LocalizedError {}

extension RowLookupError.Code: CustomStringConvertible {
  public var description: String { reason.rawValue }
}
