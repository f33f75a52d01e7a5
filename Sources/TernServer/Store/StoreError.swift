#if Server
import Foundation

/// Why a data file could not be opened, or a space of it not read. The file was not changed.
public struct StoreError: Error, Hashable, Sendable {
  public struct Code: Hashable, Sendable {
    fileprivate enum Reason: String {
      case notServerFile, newerFormat, olderFormat, inaccessible, damaged, inUse
    }
    fileprivate let reason: Reason

    /// The file is something else than a Tern server's data.
    public static let notServerFile = Code(reason: .notServerFile)
    /// A newer version of Tern made or upgraded the file.
    public static let newerFormat = Code(reason: .newerFormat)
    /// A Tern from before its first release made the file, in a form that is not brought forward.
    public static let olderFormat = Code(reason: .olderFormat)
    /// The file can't be read, made or written.
    public static let inaccessible = Code(reason: .inaccessible)
    /// The file lacks what every server file has, or a space of it has a number out of range.
    public static let damaged = Code(reason: .damaged)
    /// Another server has the file open.
    public static let inUse = Code(reason: .inUse)
  }

  public let code: Code
  /// What happened, to which file, and what to do.
  public let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}

extension StoreError: CustomStringConvertible {
  public var description: String { message.shown() }
}

extension StoreError: LocalizedError {
  public var errorDescription: String? { description }
}

extension StoreError.Code: CustomStringConvertible {
  public var description: String { reason.rawValue }
}
#endif
