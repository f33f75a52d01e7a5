import TernCore

/// Why a row can not be looked up.
public struct RowLookupError: Error, Hashable, Sendable {
  public struct Code: Hashable, Sendable {
    package enum Reason: String, Sendable { case unknownTable, wrongKey }
    package let reason: Reason

    /// The schema that the replica was opened with has no such table.
    public static let unknownTable = Code(reason: .unknownTable)
    /// Another number of values than the primary key has columns, or a NULL among them.
    public static let wrongKey = Code(reason: .wrongKey)
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
