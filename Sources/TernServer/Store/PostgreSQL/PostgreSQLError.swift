#if PostgreSQL
import Foundation

/// What PostgreSQL, or the way to it, answered. Nothing of the statement's transaction is stored,
/// but where ``isUnknown`` says otherwise.
public struct PostgreSQLError: Error, Hashable, Sendable {
  /// The five characters of SQLSTATE; `nil` where the server did not answer.
  ///
  /// - Source: https://www.postgresql.org/docs/15/errcodes-appendix.html
  public let state: String?
  /// The server's first line, which holds no values of rows.
  public internal(set) var message: String
  /// Whether the transaction may be stored all the same: its COMMIT had left, and no clear answer
  /// came.
  public internal(set) var isUnknown = false

  init(state: String?, message: String, isUnknown: Bool = false) {
    (self.state, self.message, self.isUnknown) = (state, message, isUnknown)
  }

  /// Of a connection from the pool that had died there: nothing was asked over it.
  var isStale = false

  /// The connection is gone, the server ended it, or is no primary any more: classes 08 and 57P,
  /// what waited too long inside a transaction, and a server that takes no writes.
  var isOfConnection: Bool {
    state.map { $0.hasPrefix("08") || $0.hasPrefix("57P") || ["25P03", "25006"].contains($0) }
      ?? true
  }

  /// The disk is full or fails, or nobody can say when what is written is stored: asking again soon
  /// helps nobody.
  var isOfDisk: Bool {
    isUnknown || state.map { $0.hasPrefix("53") || $0.hasPrefix("58") || $0 == "25006" } ?? false
  }

  /// The name of a prepared statement is unknown, or taken.
  var isOfPreparation: Bool { state == "26000" || state == "42P05" }

  /// Serialization failures and deadlocks: the same transaction can succeed when it is run again.
  var isRepeatable: Bool { state == "40001" || state == "40P01" }
}

extension PostgreSQLError: CustomStringConvertible {
  public var description: String {
    "PostgreSQL\(state.map { " (\($0))" } ?? ""): \(message)"
      + (isUnknown ? "; whether the transaction is stored is not known" : "")
  }
}

extension PostgreSQLError: LocalizedError {
  public var errorDescription: String? { description }
}
#endif
