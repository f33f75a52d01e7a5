/// A refusal, as the contract's problem details tell it.
struct Problem: Error, Hashable {
  var status: Int
  var code: String
  var detail: String
  var isRetryable = false
  var retryAfterMilliseconds: Int64?
  /// Whether the time to wait stands in the header as seconds, as a date or not at all, and whether
  /// it stands in the body.
  var header = HeaderForm.seconds
  var isInBody = true
  var quota: Quota?

  enum HeaderForm { case none, seconds, date }

  init(_ status: Int, _ code: String, _ detail: String) {
    (self.status, self.code, self.detail) = (status, code, detail)
  }

  /// The same for all of a kind.
  var title: String {
    switch status {
    case 400: "The request can't be read"
    case 401: "No valid token"
    case 403: "Another device's job"
    case 404: "Nothing here"
    case 405: "Another method is needed"
    case 413: "Over a limit"
    case 415: "Another content type is needed"
    case 429: "Too many requests"
    default: "Not at the moment"
    }
  }

  static func busy(_ detail: String) -> Problem {
    var problem = Problem(503, "OVERLOADED", detail)
    problem.isRetryable = true
    problem.retryAfterMilliseconds = 2000
    return problem
  }

  static let jobGone = Problem(
    404, "JOB_NOT_FOUND", "there is no such job; it was cleaned up, or the service began anew")
}

/// What a device may still ask for today.
struct Quota: Hashable, Sendable {
  var limit: Int
  var remaining: Int
  /// Milliseconds since 1970: the day's end.
  var resets: Int64
}
