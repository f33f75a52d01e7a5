#if Server
/// Where a store tells of statements that took long.
public struct SlowStatements: Sendable {
  /// How long is long.
  public let threshold: Duration
  /// Called on the store's thread with a statement's SQL, in which no value stands, and how long it
  /// took.
  public let report: @Sendable (String, Duration) -> Void

  public init(
    threshold: Duration, _ report: @escaping @Sendable (String, Duration) -> Void
  ) {
    self.threshold = threshold
    self.report = report
  }

  /// Tells of a statement, if it took long.
  func note(_ sql: String, _ time: Duration) {
    guard time >= threshold else { return }
    report(Self.shown(sql), time)
  }

  /// One line, which need not be whole to be known again.
  private static func shown(_ sql: String) -> String {
    let words = sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    return words.count > 300 ? words.prefix(300) + "…" : words
  }
}
#endif
