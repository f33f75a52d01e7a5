/// How long to wait after failures in a row: doubling, with full jitter, up to a limit.
///
/// - Source: Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog (2015).
public struct Backoff: Hashable, Sendable {
  /// The longest wait after the first failure.
  public var base: Duration
  /// The longest wait after any.
  public var limit: Duration
  /// Failures in a row.
  package private(set) var failures = 0

  public init(base: Duration = .milliseconds(500), limit: Duration = .seconds(60)) {
    self.base = base
    self.limit = limit
  }

  /// The wait after one more failure.
  ///
  /// - Parameter jitter: from 0 to 1, drawn by the caller; 0 still waits a tenth of the base.
  package mutating func next(jitter: Double) -> Duration {
    let ceiling = min(base * (1 << min(failures, 20)), limit)
    failures += 1
    return max(ceiling * min(max(jitter, 0), 1), base / 10)
  }

  /// The same waits, as they stand after a number of failures in a row.
  package func after(failures: Int) -> Backoff {
    var backoff = self
    backoff.failures = failures
    return backoff
  }

  /// After a success: the next failure is the first.
  package mutating func reset() {
    failures = 0
  }
}
