#if os(Linux)
import CNetlink
import Foundation

/// Notices that the machine slept, without asking again and again: a timer of the kernel's is
/// cancelled when the wall clock jumps, as it does on waking, and one clock that goes on in sleep
/// is held against one that doesn't.
///
/// Connections from before are dead then, and nobody has said so.
///
/// - Source: `timerfd_create(2)`, `TFD_TIMER_CANCEL_ON_SET`; `clock_gettime(2)`, `CLOCK_BOOTTIME`.
final class SleepWatch: Sendable {
  /// Becomes readable when there may have been a sleep.
  let descriptor: Int32
  private let slept: @Sendable () -> UInt64

  /// A shorter one leaves connections alone.
  static let shortestNanoseconds: UInt64 = 1_000_000_000

  /// `nil` where the kernel has no such timer.
  static func system() -> SleepWatch? {
    let descriptor = tern_clock_watch()
    return descriptor < 0 ? nil : SleepWatch(descriptor) { tern_slept_nanoseconds() }
  }

  /// - Parameters:
  ///   - descriptor: closed with this.
  ///   - slept: for how many nanoseconds the machine has slept so far.
  init(_ descriptor: Int32, slept: @escaping @Sendable () -> UInt64) {
    (self.descriptor, self.slept) = (descriptor, slept)
  }

  deinit {
    close(descriptor)
  }

  var sleptNanoseconds: UInt64 { slept() }

  /// Makes the descriptor wait for the next jump.
  func acknowledge() {
    var expirations: UInt64 = 0
    // It fails with ECANCELED after a jump, which is what is acknowledged.
    _ = read(descriptor, &expirations, 8)
  }
}

/// How much of the sleep is known already.
struct SleepMeter {
  private var known: UInt64

  init(_ nanoseconds: UInt64) {
    known = nanoseconds
  }

  /// - Returns: Whether there was a sleep since the last call, one that is long enough to matter.
  mutating func note(_ nanoseconds: UInt64) -> Bool {
    guard nanoseconds >= known + SleepWatch.shortestNanoseconds else { return false }
    known = nanoseconds
    return true
  }
}
#endif
