#if Server
#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The disk that a server stores on; a test has its own.
public struct ServerDisk: Sendable {
  private let read: @Sendable () -> Int?

  /// - Parameter freeBytes: what is free for this process; `nil` where nobody knows.
  public init(_ freeBytes: @escaping @Sendable () -> Int?) {
    read = freeBytes
  }

  /// What is free; `nil` where nobody knows.
  public var freeBytes: Int? { read() }

  /// One that nobody looks at, as for a store in memory.
  public static let unlimited = ServerDisk { nil }

  /// The disk on which a file is.
  public static func holding(_ path: String) -> ServerDisk {
    ServerDisk {
      var status = statvfs()
      guard statvfs(path, &status) == 0 else { return nil }
      let (bytes, isTooMany) = Int(clamping: status.f_bavail).multipliedReportingOverflow(
        by: Int(clamping: status.f_frsize))
      return isTooMany ? nil : bytes
    }
  }
}
#endif
