import Foundation
import TernCore

/// What one write lost against a concurrent one, in one row.
public struct InboxEntry: Hashable, Sendable, Identifiable {
  /// In the order in which they were found; an id is given again only after its entry went.
  public let id: Int64
  /// As the schema names it.
  public let table: String
  /// A value for each column of the primary key, in its order.
  public let key: [SQLiteValue]
  /// What decided: `.lastWriter`, `.sameKey`, `.deleteWins` for changes that a delete covers, or
  /// `.parentDeleted` for a row that is not shown because one that it refers to is deleted.
  public let kind: ConflictKind
  /// The losing values by column. Where a delete that came removed the row, all that it held.
  public let values: [String: SQLiteValue]
  /// Who wrote them.
  public let loser: WriteStamp
  /// Whose write stands, or stood when this was found.
  public let winner: WriteStamp
  /// When the two met here, by this device's clock, to the millisecond.
  public let found: Date
}

/// Why an entry cannot be restored or dismissed.
public struct InboxError: Error, Hashable, Sendable {
  public struct Code: Hashable, Sendable {
    package enum Reason: String, Sendable {
      case missingEntry, missingTable, missingRow, quarantined, parentDeleted, parentRefused
    }
    package let reason: Reason

    /// It was restored, dismissed, or too old.
    public static let missingEntry = Code(reason: .missingEntry)
    /// The schema does not have the table, or none of the entry's columns, any more.
    public static let missingTable = Code(reason: .missingTable)
    /// There is no row with the key to restore into.
    public static let missingRow = Code(reason: .missingRow)
    /// The row is in the state and not in its table, because something refuses it.
    public static let quarantined = Code(reason: .quarantined)
    /// What the row refers to is deleted, and the row cannot be without it.
    public static let parentDeleted = Code(reason: .parentDeleted)
    /// What the row refers to is deleted, and its table does not take it back: another row has its
    /// place in a UNIQUE index, say, which the message names.
    public static let parentRefused = Code(reason: .parentRefused)
  }

  public let code: Code
  /// What is wrong and the way out.
  public let message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}

extension InboxError: CustomStringConvertible {
  public var description: String { message }
}

extension InboxError: AdvisingError {
  /// What is in the inbox or in the table has to change first.
  public var advice: FailureAdvice { .permanent }
}

extension InboxError: LocalizedError {}

extension InboxError.Code: CustomStringConvertible {
  public var description: String { reason.rawValue }
}
