@_spi(Rehearsal) import Tern

/// What the service does wrong in a round; the raw value is what its `/control/misbehave` is told.
package enum ScanMisbehaviour: String, CaseIterable, Sendable {
  case none = ""
  case delay = "delay=100"
  case dropAccepted = "drop-accepted:1"
  case gatewayTimeout = "gateway-timeout:1"
  case foreignStream = "foreign-stream:1"
  case unreadableBook = "unreadable-book:1"
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
  case failCleanUp = "fail-clean-up:1"
  case streamError = "stream-error:1"

  var name: String { self == .none ? "none" : rawValue }

  /// For which a stream is listened to. One with nothing but pings, of which four come within a
  /// second, is given up soon.
  var streamSeconds: Int { self == .pingsOnly ? 2 : 120 }

  /// Whether one job of the round is of no use, so that another one is asked for.
  var spoilsJob: Bool { [.expiredToken, .foreignStream, .streamError].contains(self) }

  /// Whether the service takes one photo of the round and its answer does not come.
  var losesAnswer: Bool { self == .dropAccepted || self == .gatewayTimeout }

  /// Whether a process of a round comes to where it is to die; `nil` where moments decide.
  ///
  /// An undisturbed scan stores seven checkpoints: the photo is prepared, it is sent, three books
  /// are found, the stream has ended, the results are read. It unlinks two files: the photo as it
  /// was taken, and as it was sent.
  func reaches(_ kill: ScanKill) -> Bool? {
    guard case .at(let point, let count, .run) = kill else { return true }
    let isCommit = point == .jobBeforeStepCommit || point == .jobAfterStepCommit
    return switch self {
    // No book is told of.
    case .pingsOnly where isCommit: count <= 4
    // One that can't be read is no find, and counted with the results.
    case .unreadableBook where isCommit: count <= 6
    // The process that prepares the photo ends, and another one sends it when it is midnight.
    case .dailyQuota where isCommit: count <= 6
    case .dailyQuota where point == .jobBeforeUnlink: count == 1
    // The cut takes what was found by then, before any event's number was stored: a quick
    // service has found all books.
    case .cutStream where isCommit && count > 4: nil
    case .cutStream where point == .scanAfterEvent && count > 1: nil
    default: true
    }
  }
}
