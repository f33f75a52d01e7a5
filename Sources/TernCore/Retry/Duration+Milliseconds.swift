extension Duration {
  /// Whole milliseconds, and half of the longest for what has more, so that a time can be added.
  package var milliseconds: Int64 {
    let (seconds, rest) = components
    let (milliseconds, isTooLong) = seconds.multipliedReportingOverflow(by: 1000)
    let limit = Int64.max / 2
    if isTooLong { return seconds < 0 ? -limit : limit }
    return min(max(milliseconds, -limit), limit) + rest / 1_000_000_000_000_000
  }
}
