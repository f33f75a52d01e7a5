import TernCore

/// When a server wants to be asked again. Without jitter: spreading clients is the caller's part.
public struct RetryAdvice: Hashable, Sendable {
  /// From the arrival of the answer; never negative.
  public let delay: Duration

  /// The longest delay that is told apart from a longer one: 2^31 - 1 seconds.
  public static let longestDelay = Duration.seconds(Int64(Int32.max))

  public init(delay: Duration) {
    self.delay = min(max(delay, .zero), Self.longestDelay)
  }

  /// Reads `Retry-After`, or gives `nil` where it is missing or makes no sense.
  ///
  /// A date is taken relative to the answer's own `Date`, so that neither clock has to be right;
  /// without one there is nothing to compare with and no advice.
  ///
  /// - Source: RFC 9110, section 10.2.3.
  public init?(headers: HTTPHeaders) {
    guard let value = headers["Retry-After"] else { return nil }
    if let seconds = Self.seconds(value) {
      self.init(delay: .seconds(seconds))
    } else if let now = headers["Date"].flatMap({ HTTPDate($0) }),
      let then = HTTPDate(value, now: now), !Planted.isActive(.retryDateUnread)
    {
      self.init(delay: .seconds(then.secondsSince1970 - now.secondsSince1970))
    } else {
      return nil
    }
  }

  private static func seconds(_ text: String) -> Int64? {
    guard !text.isEmpty,
      text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    // More digits than fit are a long time and no error.
    return Int64(text) ?? Int64(Int32.max)
  }
}
