/// How fast jobs may go: of a kind, or of one lane of it.
///
/// ```swift
/// static let pace = JobPace(concurrency: 2, rate: JobRate(100, per: .seconds(60), burst: 10))
/// ```
public struct JobPace: Hashable, Sendable {
  /// How many run at the same time at most; `nil` for as many as the worker takes.
  public var concurrency: Int?
  /// How many are started, retries included; `nil` for no bound.
  public var rate: JobRate?

  public init(concurrency: Int? = nil, rate: JobRate? = nil) {
    precondition(concurrency.map { $0 > 0 } ?? true, "at least one job runs at a time")
    (self.concurrency, self.rate) = (concurrency, rate)
  }

  /// As fast as the worker can.
  public static let unbounded = JobPace()
}

/// A bound that holds over any while, kept in the database: a bucket of tokens that fills steadily,
/// of which each takes one.
public struct JobRate: Hashable, Sendable {
  /// How long it takes until the next token is there, in whole microseconds.
  public let interval: Duration
  /// How many tokens the bucket holds: so many can go at once after a quiet while. It is full after
  /// a year at most.
  public let burst: Int

  /// - Parameters:
  ///   - count: how many tokens come in a period, at least 1.
  ///   - period: at least a microsecond for each of them, and at most a year. What is left of a
  ///     microsecond is rounded up.
  ///   - burst: at least 1; cut to what fills up in a year.
  public init(_ count: Int, per period: Duration, burst: Int = 1) {
    precondition(count > 0 && burst > 0, "a rate lets at least one pass")
    precondition(period >= .microseconds(count), "a rate has no more than one a microsecond")
    precondition(period / count <= Self.longest, "a rate has at least one a year")
    let (seconds, attoseconds) = (period / count).components
    let microseconds = seconds * 1_000_000 + (attoseconds + 999_999_999_999) / 1_000_000_000_000
    interval = .microseconds(microseconds)
    // Beyond this a sum of microseconds would overflow at some launch.
    self.burst = min(burst, Int(Self.longest.components.seconds * 1_000_000 / microseconds))
  }

  private static let longest = Duration.seconds(365 * 86_400)
}
