import Foundation

/// A moment as it is stored: milliseconds since 1970.
package struct WallTime: Hashable, Sendable, Comparable, Codable {
  package var milliseconds: Int64

  package init(milliseconds: Int64) {
    self.milliseconds = milliseconds
  }

  /// The first whole millisecond that is not before a moment, so that no wait is cut short.
  package init(notBefore moment: Duration) {
    self.init(moment, roundingUp: 999_999_999_999_999)
  }

  /// The last whole millisecond that is not after a moment.
  package init(notAfter moment: Duration) { self.init(moment, roundingUp: 0) }

  private init(_ moment: Duration, roundingUp part: Int64) {
    let (seconds, attoseconds) = min(max(moment, .zero - Self.latest), Self.latest).components
    milliseconds = seconds * 1000 + (attoseconds + part) / 1_000_000_000_000_000
  }

  /// The end of the year 9999, the last that SQLite has a name for. A delay beyond all reason ends
  /// there.
  private static let latest = Duration.seconds(253_402_300_799)

  /// Since 1970.
  package var duration: Duration { .milliseconds(milliseconds) }
  package var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

  package static func < (left: WallTime, right: WallTime) -> Bool {
    left.milliseconds < right.milliseconds
  }
}
