/// Decides which keys a row and, where there is no room, its neighbours get.
///
/// Pure: whoever asks reads the neighbours and writes the keys.
///
/// - Source: windows that double, with thresholds that fall: Bender and others, "Two simplified
///   algorithms for maintaining order in a list" (2002).
package enum OrderPlacement {
  package enum Limit {
    /// A key that would be longer makes room among its neighbours first.
    static let bytes = 48
    /// How many neighbours on each side make room at first; then twice as many, and so on.
    static let window = 8

    /// What they get at most, by how often the window grew. The more rows move, the more room they
    /// must make, so that many moves to one spot cost few rows each.
    static func spreadBytes(_ growth: Int) -> Int { Swift.max(20, 47 - 3 * growth) }
  }

  /// The rows on one side of the place, the nearest first.
  package struct Side: Sendable {
    /// `nil` for a row whose value is no key.
    package var keys: [OrderKey?]
    /// Whether there are no more.
    package var isWhole: Bool

    package init(keys: [OrderKey?], isWhole: Bool) {
      self.keys = keys
      self.isWhole = isWhole
    }
  }

  package enum Decision {
    /// So many rows have to be known on each side.
    case needs(Int)
    /// The row's key, and new ones for the nearest on each side, the nearest first.
    case place(OrderKey, left: [OrderKey], right: [OrderKey])
  }

  package static func decide(
    _ left: Side, _ right: Side, using generator: inout some RandomNumberGenerator
  ) -> Decision {
    var window = 0
    for growth in 0... {
      guard let lefts = reach(window, in: left), let rights = reach(window, in: right) else {
        return .needs(2 * Swift.max(window, left.keys.count, right.keys.count, 1))
      }
      let isWhole = lefts == left.keys.count && rights == right.keys.count
      let limit =
        isWhole ? .max : lefts + rights == 0 ? Limit.bytes : Limit.spreadBytes(growth)
      let keys = OrderKey.spread(
        lefts + rights + 1, between: lefts < left.keys.count ? left.keys[lefts] : nil,
        rights < right.keys.count ? right.keys[rights] : nil, limit: limit, using: &generator)
      if let keys {
        return .place(
          keys[lefts], left: keys[..<lefts].reversed(), right: Array(keys[(lefts + 1)...]))
      }
      precondition(!isWhole, "a whole list of \(lefts + rights) rows has no room")
      window = Swift.max(Limit.window, 2 * window)
    }
    preconditionFailure("unreachable: a whole list always has room")
  }

  /// How many rows get new keys: the window, and what follows that has none. `nil` where that is
  /// not known yet.
  private static func reach(_ window: Int, in side: Side) -> Int? {
    var count = Swift.min(window, side.keys.count)
    if count < window, !side.isWhole { return nil }
    while count < side.keys.count, side.keys[count] == nil { count += 1 }
    return count < side.keys.count || side.isWhole ? count : nil
  }
}
