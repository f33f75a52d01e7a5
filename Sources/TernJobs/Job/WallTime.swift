import Foundation

/// A moment as it is stored: milliseconds since 1970.
package struct WallTime: Hashable, Sendable, Comparable {
  package var milliseconds: Int64

  package init(milliseconds: Int64) {
    self.milliseconds = milliseconds
  }

  /// The first whole millisecond that is not before a moment, so that no wait is cut short.
  package init(notBefore moment: Duration) {
    let (seconds, attoseconds) = moment.components
    let part = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    milliseconds = seconds * 1000 + part
  }

  /// Since 1970.
  package var duration: Duration { .milliseconds(milliseconds) }
  package var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

  package static func < (left: WallTime, right: WallTime) -> Bool {
    left.milliseconds < right.milliseconds
  }
}
