/// How often, and after which waits, something that failed is attempted again.
public struct RetryPolicy: Hashable, Sendable {
  /// The wait after each failure in a row; when they are used up there is no further attempt.
  public let delays: [Duration]

  /// - Parameter delays: none of them negative.
  public init(delays: [Duration]) {
    precondition(delays.allSatisfy { $0 >= .zero }, "a retry can not wait a negative time")
    self.delays = delays
  }

  /// Three retries, after exactly 1, 2 and 4 seconds.
  public static let standard = RetryPolicy(delays: [.seconds(1), .seconds(2), .seconds(4)])

  /// The first failure is the last.
  public static let never = RetryPolicy(delays: [])

  /// Waits that double from `base`, none longer than `limit`.
  public static func doubling(
    from base: Duration, limit: Duration, times: Int
  ) -> RetryPolicy {
    RetryPolicy(delays: (0..<times).map { min(base * (1 << min($0, 20)), limit) })
  }

  /// - Parameter failures: how many attempts have failed, this one included; at least 1.
  /// - Returns: the wait before the next attempt, `nil` when there is none.
  public func delay(afterFailures failures: Int) -> Duration? {
    precondition(failures > 0, "a retry follows a failure")
    return failures <= delays.count ? delays[failures - 1] : nil
  }
}
