/// How often, and after which waits, something that failed is attempted again.
public struct RetryPolicy: Hashable, Sendable {
  /// The wait after each failure in a row; when they are used up there is no further attempt.
  public let delays: [Duration]
  /// How much of a wait is left to chance.
  public let jitter: RetryJitter

  /// - Parameter delays: none of them negative.
  public init(delays: [Duration], jitter: RetryJitter = .exact) {
    precondition(delays.allSatisfy { $0 >= .zero }, "a retry cannot wait a negative time")
    (self.delays, self.jitter) = (delays, jitter)
  }

  /// Three retries, after exactly 1, 2 and 4 seconds.
  public static let standard = RetryPolicy(delays: [.seconds(1), .seconds(2), .seconds(4)])

  /// The first failure is the last.
  public static let never = RetryPolicy(delays: [])

  /// Waits that double from `base`, none longer than `limit`.
  public static func doubling(
    from base: Duration, limit: Duration, times: Int, jitter: RetryJitter = .exact
  ) -> RetryPolicy {
    RetryPolicy(
      delays: (0..<times).map { min(base * (1 << min($0, 20)), limit) }, jitter: jitter)
  }

  /// - Parameters:
  ///   - failures: how many attempts have failed, this one included; at least 1.
  ///   - draw: from 0 to 1, drawn by the caller; the longest wait for 1.
  /// - Returns: the wait before the next attempt, `nil` when there is none.
  package func delay(afterFailures failures: Int, draw: Double = 1) -> Duration? {
    precondition(failures > 0, "a retry follows a failure")
    return failures <= delays.count ? jitter.wait(delays[failures - 1], draw: draw) : nil
  }
}

/// How much of a wait is left to chance, so that many who failed at one moment do not all come back
/// at one.
///
/// - Source: Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog (2015).
public enum RetryJitter: Hashable, Sendable {
  /// Nothing: the wait is as it is given.
  case exact
  /// The second half of it.
  case equal
  /// All of it.
  case full

  /// - Parameter draw: from 0 to 1.
  func wait(_ delay: Duration, draw: Double) -> Duration {
    let draw = min(max(draw, 0), 1)
    return switch self {
    case .exact: delay
    case .equal: delay / 2 + (delay - delay / 2) * draw
    case .full: delay * draw
    }
  }
}
