import ExampleService

/// What the service does wrong on request, so that a client can be tested.
public typealias Misbehaviour = Misdeed<MisbehaviourKind>

public enum MisbehaviourKind: String, MisdeedKind {
  /// Answers later, by milliseconds: 1000 unless said.
  case delay = "delay"
  /// Accepts a job and closes the connection instead of answering.
  case dropAccepted = "drop-accepted"
  /// Accepts a job and answers 504 in a proxy's place.
  case gatewayTimeout = "gateway-timeout"
  /// A job's stream is said to be at another host.
  case foreignStream = "foreign-stream"
  /// A book has no title, wherever it is told.
  case unreadableBook = "unreadable-book"
  /// Closes the connection after so many events of a stream: 1 unless said.
  case cutStream = "cut-stream"
  /// 429 for so many seconds from the first refusal on, 1 unless said, told in `Retry-After` as
  /// seconds.
  case limitSeconds = "limit-seconds"
  /// The same, told in `Retry-After` as a date.
  case limitDate = "limit-date"
  /// The same, told in the body alone, as `retryAfterMs`.
  case limitBody = "limit-body"
  /// The same, told in `Retry-After` and in the body.
  case limitBoth = "limit-both"
  /// The same, not told.
  case limitBare = "limit-bare"
  /// `complete` has a `resultsUrl` instead of the books.
  case stripBooks = "strip-books"
  /// `complete` is empty.
  case emptyComplete = "empty-complete"
  /// A stream has pings and nothing else.
  case pingsOnly = "pings-only"
  /// Every book comes with a warning, in the contract's two forms by turns.
  case degraded = "degraded"
  /// A job's token is too old from the beginning.
  case expiredToken = "expired-token"
  /// 429 until the day's end.
  case dailyQuota = "daily-quota"
  /// Asking for the results answers 500.
  case failResults = "fail-results"
  /// Asking for the clean-up answers 500.
  case failCleanUp = "fail-clean-up"
  /// The stream ends with an `error` that may be tried again.
  case streamError = "stream-error"
}
