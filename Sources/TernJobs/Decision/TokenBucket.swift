/// A bucket of tokens that fills steadily, as the one moment at which it is full again.
///
/// - Source: ITU-T I.371, annex A: the generic cell rate algorithm, as virtual scheduling.
package struct TokenBucket: Hashable, Sendable {
  /// Microseconds since 1970.
  package private(set) var fullAt: Int64

  /// - Parameter fullAt: whatever a database holds.
  package init(fullAt: Int64) {
    self.fullAt = max(fullAt, Int64.min / 2)
  }

  /// How many whole tokens are there, from 0 to the burst.
  package func tokens(_ rate: JobRate, at now: WallTime) -> Int {
    let missing = mended(rate, at: now).fullAt - now.microseconds
    if missing <= 0 { return rate.burst }
    return rate.burst - Int((missing + rate.microseconds - 1) / rate.microseconds)
  }

  /// When there are so many tokens, at most the burst, if nobody takes one; not rounded down.
  package func time(of tokens: Int, _ rate: JobRate, at now: WallTime) -> WallTime {
    let ready =
      mended(rate, at: now).fullAt - Int64(rate.burst - tokens) * rate.microseconds
    return WallTime(notBefore: .microseconds(max(ready, now.microseconds)))
  }

  /// One token less, and none less than none.
  package func taken(_ rate: JobRate, at now: WallTime) -> TokenBucket {
    let next = max(mended(rate, at: now).fullAt, now.microseconds) + rate.microseconds
    return TokenBucket(fullAt: next).mended(rate, at: now)
  }

  /// One token more, and none more than the burst.
  package func returned(_ rate: JobRate, at now: WallTime) -> TokenBucket {
    TokenBucket(fullAt: mended(rate, at: now).fullAt - rate.microseconds)
  }

  /// A clock that was set back, or another rate, makes no wait longer than that for a whole bucket.
  /// Who keeps buckets keeps what this returns: looked at later, the other would be full later.
  package func mended(_ rate: JobRate, at now: WallTime) -> TokenBucket {
    TokenBucket(fullAt: min(fullAt, now.microseconds + Int64(rate.burst) * rate.microseconds))
  }
}

extension JobRate {
  fileprivate var microseconds: Int64 {
    let (seconds, attoseconds) = interval.components
    return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
  }
}

extension WallTime {
  package var microseconds: Int64 { milliseconds * 1000 }
}
