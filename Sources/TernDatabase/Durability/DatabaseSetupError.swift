import Foundation
import GRDB
import TernCore

/// Why a database cannot be used as Tern would have to use it. Nothing was written to it.
public struct DatabaseSetupError: Error, Sendable {
  public struct Code: Hashable, Sendable {
    package enum Reason: String, Sendable {
      case readOnly = "read-only"
      case journalNotDurable = "journal-not-durable"
      case durabilityNotApplied = "durability-not-applied"
      case lowerDurability = "lower-durability"
    }
    package let reason: Reason

    /// The database is open for reading only: open it for writing, or let its file be written.
    public static let readOnly = Code(reason: .readOnly)
    /// Its journal mode is MEMORY or OFF, which survives no crash: use WAL or DELETE.
    public static let journalNotDurable = Code(reason: .journalNotDurable)
    /// SQLite did not take the ``Durability``: see ``DatabaseSetupError/underlyingError``.
    package static let durabilityNotApplied = Code(reason: .durabilityNotApplied)
    /// The same database was opened with ``Durability/powerLoss`` before, by a replica or a queue
    /// of jobs: what was promised there would not be kept.
    public static let lowerDurability = Code(reason: .lowerDurability)
  }

  public let code: Code
  /// The database's path.
  public let database: String
  public let underlyingError: (any Error)?

  package init(_ code: Code, database: String, underlyingError: (any Error)? = nil) {
    self.code = code
    self.database = database
    self.underlyingError = underlyingError
  }

  /// Whether the same call can succeed later: another connection was in the way, or the app had
  /// suspended or interrupted this one.
  public var isTransient: Bool { (underlyingError as? DatabaseError)?.passes ?? false }
}

extension DatabaseSetupError: AdvisingError {
  public var advice: FailureAdvice { isTransient ? .unreachable : .permanent }
}

extension DatabaseSetupError: CustomStringConvertible {
  public var description: String {
    let text =
      switch code.reason {
      case .readOnly:
        "\(database) is open for reading only; open it for writing"
      case .journalNotDurable:
        "the journal of \(database) survives no crash; set its journal_mode to WAL or DELETE"
      case .durabilityNotApplied:
        "SQLite did not take the durability for \(database); set it outside of transactions"
      case .lowerDurability:
        "\(database) was opened with .powerLoss, which .processCrash would end; give both one"
      }
    let cause = underlyingError.map { ": \($0)" } ?? ""
    return "\(text)\(cause) (\(code.reason.rawValue))"
  }
}

extension DatabaseSetupError: LocalizedError {}

extension DatabaseSetupError.Code: CustomStringConvertible {
  public var description: String { reason.rawValue }
}
