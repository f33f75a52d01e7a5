import Foundation
import TernCore

/// Why a replica cannot be used.
public struct ReplicaError: Error, Hashable, Sendable {
  public struct Code: Hashable, Sendable {
    package enum Reason: String, Sendable {
      case notInstalled, damaged, invalidName, newerFormat, olderFormat, schemaChanged
      case unknownAuthor
    }
    package let reason: Reason

    /// The replica's tables are missing, e.g. because the app erased its database.
    public static let notInstalled = Code(reason: .notInstalled)
    /// The replica's own tables hold what it never writes.
    public static let damaged = Code(reason: .damaged)
    /// A replica's name has letters and digits only, and one at least.
    public static let invalidName = Code(reason: .invalidName)
    /// A newer Tern made this database, or brought it to its format while this one had it open:
    /// a newer version of the app in another process, for example. What is noted stays noted.
    public static let newerFormat = Code(reason: .newerFormat)
    /// A Tern from before the stored format was settled made this database.
    public static let olderFormat = Code(reason: .olderFormat)
    /// The replica was opened with another schema since: by another process, such as a newer
    /// version of the app, or by this one. What this object writes would leave out columns that it
    /// does not know, so it writes nothing any more; what is noted stays noted. Open
    /// the replica again.
    public static let schemaChanged = Code(reason: .schemaChanged)
    /// Nothing of the author that the call is about ever came to this replica.
    public static let unknownAuthor = Code(reason: .unknownAuthor)
  }

  public let code: Code
  /// What is wrong and the way out.
  public let message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  static let notInstalled = ReplicaError(
    .notInstalled, "the replica's tables are gone; call Replica.open again")

  static func newerFormat(_ format: Int) -> ReplicaError {
    ReplicaError(
      .newerFormat,
      "the replica was made by a newer Tern (format \(format)), or brought to its format meanwhile; "
        + "nothing is lost: update the app")
  }
}

extension ReplicaError: CustomStringConvertible {
  public var description: String { message }
}

extension ReplicaError: AdvisingError {
  /// The database, the name or the app has to change first.
  public var advice: FailureAdvice { .permanent }
}

extension ReplicaError: LocalizedError {}

extension ReplicaError.Code: CustomStringConvertible {
  public var description: String { reason.rawValue }
}
