import Foundation
import GRDB
import TernCore

/// Why a file cannot be inspected.
public struct InspectionError: Error, Sendable {
  public struct Code: Hashable, Sendable {
    package enum Reason: String, Sendable {
      case absent
      case unreadable
      case notADatabase = "not-a-database"
      case noReplica = "no-replica"
      case newerFormat = "newer-format"
      case viewForTable = "view-for-table"
      case writtenMeanwhile = "written-meanwhile"
    }
    package let reason: Reason

    public static let absent = Code(reason: .absent)
    /// A folder, a file without permission, or one that SQLite could not read: see
    /// ``InspectionError/underlyingError``.
    package static let unreadable = Code(reason: .unreadable)
    public static let notADatabase = Code(reason: .notADatabase)
    /// An SQLite database that `Replica.open` was never called with.
    public static let noReplica = Code(reason: .noReplica)
    /// A newer Tern made it.
    package static let newerFormat = Code(reason: .newerFormat)
    /// It has a view where Tern makes a table, so that somebody changed it, and nothing was read:
    /// ``InspectionError/underlyingError`` names the view.
    package static let viewForTable = Code(reason: .viewForTable)
    /// Nobody had the file open when the look began, and then somebody wrote to it: what was seen
    /// may be of two moments. Another look tells.
    package static let writtenMeanwhile = Code(reason: .writtenMeanwhile)
  }

  public let code: Code
  public let path: String
  public let underlyingError: (any Error)?

  package init(_ code: Code, path: String, underlyingError: (any Error)? = nil) {
    self.code = code
    self.path = path
    self.underlyingError = underlyingError
  }
}

extension InspectionError: AdvisingError {
  /// The file has to change first, unless another connection was in the way.
  public var advice: FailureAdvice {
    isPassing || code == .writtenMeanwhile ? .unreachable : .permanent
  }
}

extension InspectionError {
  private var isPassing: Bool { (underlyingError as? DatabaseError)?.passes ?? false }
}

extension InspectionError: CustomStringConvertible {
  public var description: String {
    let text =
      switch code.reason {
      case .absent: "there is no file \(path)"
      case .unreadable where isPassing:
        "\(path) is locked by another program; look again when that has ended its work"
      case .unreadable: "\(path) can't be read; name a file that you have permission to read"
      case .notADatabase: "\(path) is no SQLite database"
      case .noReplica: "\(path) holds no replica: it was never opened with Replica.open"
      case .newerFormat: "\(path) was made by a newer Tern; inspect it with that one"
      case .viewForTable:
        "\(path) was changed by somebody else, and nothing of it was read; look at a backup"
      case .writtenMeanwhile:
        "\(path) was opened and written to during the look, which saw parts of two states; look again"
      }
    return text + (underlyingError.map { " (\($0))" } ?? "")
  }
}

extension InspectionError: LocalizedError {}

extension InspectionError.Code: CustomStringConvertible {
  public var description: String { reason.rawValue }
}
