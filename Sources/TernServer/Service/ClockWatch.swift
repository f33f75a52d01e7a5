#if Server
import Foundation
import Synchronization
import TernCore

extension ServerClock {
  /// Whether a time is later than this clock can have written it down: it was ahead then, or
  /// is behind now.
  func isAhead(_ time: Date) -> Bool { -age(of: time) > Admission.toleranceMilliseconds }
}

/// Tells a clock that was ahead from one that is behind: a machine that begins with a wrong time is
/// put right within the day.
final class ClockWatch: Sendable {
  private static let dayMilliseconds: Int64 = 86_400_000

  /// How far the wall clock was from the other, and since when that is so.
  private let pace = Mutex<(offset: Int64, since: Int64)?>(nil)

  /// Whether nobody has set the clock for a day, as far as this was asked. What it says is ahead
  /// was written down while it was ahead then, and counts as done now: nothing is that time's.
  func isSteady(_ clock: ServerClock) -> Bool {
    let uptime = clock.uptimeMilliseconds
    let offset = clock.nowMilliseconds - uptime
    return pace.withLock { pace in
      guard let (known, since) = pace, since <= uptime,
        abs(offset - known) <= Admission.toleranceMilliseconds
      else {
        pace = (offset, uptime)
        return false
      }
      // It may drift.
      pace = (offset, since)
      return uptime - since >= Self.dayMilliseconds
    }
  }
}
#endif
