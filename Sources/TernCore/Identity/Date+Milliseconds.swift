import struct Foundation.Date

extension Date {
  /// A moment as it travels and is stored: milliseconds since 1970.
  package init(milliseconds: Int64) {
    self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
  }

  /// To the nearest, and exactly those that it was made of in all years that a clock can show. Half
  /// of the most for what is no number or has more, so that a time can be added.
  package var milliseconds: Int64 {
    let limit = Int64.max / 2
    let exact = (timeIntervalSince1970 * 1000).rounded()
    guard abs(exact) < Double(limit) else { return exact < 0 ? -limit : limit }
    return Int64(exact)
  }
}
