#if os(Linux) || os(macOS)
/// What the service does wrong in a round; the raw value is what its `/control/misbehave` is told.
package enum ScanMisbehaviour: String, CaseIterable, Sendable {
  case none = ""
  case delay = "delay=100"
  case dropAccepted = "drop-accepted:1"
  case cutStream = "cut-stream:1"
  case limitSeconds = "limit-seconds=1:1"
  case limitDate = "limit-date=1:1"
  case limitBody = "limit-body=1:1"
  case limitBoth = "limit-both=1:1"
  case limitBare = "limit-bare=1:1"
  case stripBooks = "strip-books"
  case emptyComplete = "empty-complete"
  case pingsOnly = "pings-only"
  case degraded = "degraded"
  case expiredToken = "expired-token:1"
  case dailyQuota = "daily-quota:1"
  case failResults = "strip-books,fail-results:1"
  case streamError = "stream-error:1"

  var name: String { self == .none ? "none" : rawValue }

  /// For which a stream is listened to. One with nothing but pings is given up soon.
  var streamSeconds: Int { self == .pingsOnly ? 1 : 30 }

  /// Whether one job of the round is of no use, so that another one is asked for.
  var spoilsJob: Bool { self == .expiredToken || self == .streamError }
}
#endif
