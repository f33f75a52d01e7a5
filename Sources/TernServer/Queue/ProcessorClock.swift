#if Server
#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// What processor time is counted with; a test has its own.
struct ProcessorClock: Sendable {
  /// The processor time of the thread that asks.
  let threadTime: @Sendable () -> Duration
  /// Since any moment, of a clock that nobody sets.
  let uptime: @Sendable () -> Duration

  static let system = ProcessorClock(
    threadTime: { duration(of: CLOCK_THREAD_CPUTIME_ID) },
    uptime: { duration(of: CLOCK_MONOTONIC) })

  private static func duration(of clock: clockid_t) -> Duration {
    var time = timespec()
    clock_gettime(clock, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}
#endif
