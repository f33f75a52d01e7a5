import Foundation
import TernCore

/// Why nothing was done about an entry.
public struct InboxError: Error, Hashable, Sendable {
  public struct Code: Hashable, Sendable {
    package enum Reason: String, Sendable {
      case missingEntry, missingTable, missingRow, wrongAction, quarantined, parentDeleted
      case parentRefused, refused
    }
    package let reason: Reason

    /// It was restored, dismissed, or too old, or it says something else by now.
    package static let missingEntry = Code(reason: .missingEntry)
    /// The schema does not have the table, or none of the entry's columns, any more.
    package static let missingTable = Code(reason: .missingTable)
    /// There is no row with the key to restore into.
    package static let missingRow = Code(reason: .missingRow)
    /// It is none of the entry's ``InboxEntry/actions``.
    package static let wrongAction = Code(reason: .wrongAction)
    /// The row is in the state and not in its table, because something refuses it.
    public static let quarantined = Code(reason: .quarantined)
    /// What the row refers to is not there, and the row cannot be without it.
    public static let parentDeleted = Code(reason: .parentDeleted)
    /// What the row refers to is deleted, and its table does not take it back: another row has its
    /// place in a UNIQUE index, say, which the message names.
    public static let parentRefused = Code(reason: .parentRefused)
    /// The row cannot be shown with these values, or not be discarded: the message names the rows
    /// that are in the way, or says what SQLite says.
    public static let refused = Code(reason: .refused)
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
