import Foundation

/// The wall clock that the service goes by; a test has its own.
public struct ScanClock: Sendable {
  private let read: @Sendable () -> Int64

  public init(_ nowMilliseconds: @escaping @Sendable () -> Int64) {
    read = nowMilliseconds
  }

  /// Milliseconds since 1970.
  public var nowMilliseconds: Int64 { read() }

  public static let system = ScanClock { Int64(Date().timeIntervalSince1970 * 1000) }
}
