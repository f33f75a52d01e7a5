#if Server
#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The wall clock that a server goes by; a simulation has its own.
public struct ServerClock: Sendable {
  private let read: @Sendable () -> Int64

  public init(_ nowMilliseconds: @escaping @Sendable () -> Int64) {
    read = nowMilliseconds
  }

  /// Milliseconds since 1970.
  public var nowMilliseconds: Int64 { read() }

  /// Whether a time was written down by this clock while it was ahead. Nothing is that time's: what
  /// was done then counts as done now.
  func wasAhead(at milliseconds: Int64) -> Bool {
    milliseconds - nowMilliseconds > Admission.toleranceMilliseconds
  }

  /// The machine's clock.
  public static let system = ServerClock {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}
#endif
