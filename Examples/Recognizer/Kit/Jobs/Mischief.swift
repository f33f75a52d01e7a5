import ExampleService

/// What is still to be done wrong.
typealias Mischief = Misdeeds<MisbehaviourKind>

extension Mischief {
  /// The refusal that is due, with what it says of the time that is left.
  func refusal(now: Int64) -> Problem? {
    for kind in [.limitSeconds, .limitDate, .limitBody, .limitBoth, .limitBare]
      as [MisbehaviourKind]
    {
      guard let left = refusal(kind, now: now) else { continue }
      var problem = Problem(429, "RATE_LIMITED", "too many scans at once")
      problem.isRetryable = true
      problem.retryAfterMilliseconds = left
      problem.isInBody = kind == .limitBody || kind == .limitBoth
      problem.header =
        switch kind {
        case .limitSeconds, .limitBoth: .seconds
        case .limitDate: .date
        default: .none
        }
      return problem
    }
    return nil
  }
}
