#if Server
#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif
import Foundation
import TernCore

/// The wall clock that a server goes by; a simulation has its own.
public struct ServerClock: Sendable {
  private let read: @Sendable () -> Date
  private let readUptime: (@Sendable () -> Duration)?

  /// - Parameters:
  ///   - now: the wall clock, which is read to the millisecond.
  ///   - uptime: since any moment, of a clock that nobody sets; `nil` where the other is never set
  ///     either.
  public init(
    _ now: @escaping @Sendable () -> Date, uptime: (@Sendable () -> Duration)? = nil
  ) {
    (read, readUptime) = (now, uptime)
  }

  public var now: Date { Date(milliseconds: nowMilliseconds) }

  package var nowMilliseconds: Int64 { read().milliseconds }

  var uptimeMilliseconds: Int64 { readUptime?().milliseconds ?? nowMilliseconds }

  func now(after time: Duration) -> Date {
    Date(milliseconds: nowMilliseconds + time.milliseconds)
  }

  /// Whether a time has come.
  public func hasPassed(_ time: Date) -> Bool { age(of: time) >= 0 }

  /// In milliseconds, as whole numbers compare exactly; below 0 for what is to come.
  func age(of time: Date) -> Int64 { nowMilliseconds - time.milliseconds }

  /// A clock that goes by this one's uptime.
  func showing(_ milliseconds: @escaping @Sendable (_ uptime: Int64) -> Int64) -> ServerClock {
    ServerClock({ Date(milliseconds: milliseconds(uptimeMilliseconds)) }, uptime: readUptime)
  }

  /// The machine's clock.
  public static let system = ServerClock {
    Date(milliseconds: milliseconds(of: CLOCK_REALTIME))
  } uptime: {
    .milliseconds(milliseconds(of: CLOCK_MONOTONIC))
  }

  private static func milliseconds(of clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}
#endif
