#if Server
/// How many durations were no longer than each of some bounds.
struct Histogram: Hashable {
  /// From a look at a row to a snapshot's check.
  static let bounds: [Duration] = [
    .milliseconds(1), .milliseconds(5), .milliseconds(10), .milliseconds(25), .milliseconds(50),
    .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1), .milliseconds(2_500),
    .seconds(5), .seconds(10), .seconds(30),
  ]

  /// Of those within each bound and beyond the one before; the last is beyond all.
  private var counts = [Int](repeating: 0, count: bounds.count + 1)
  private(set) var sum = Duration.zero

  var count: Int { counts.reduce(0, +) }

  mutating func add(_ duration: Duration) {
    counts[Self.bounds.firstIndex { duration <= $0 } ?? Self.bounds.count] += 1
    sum += duration
  }

  /// How many were no longer than each bound; `nil` is without one.
  var cumulative: [(bound: Duration?, count: Int)] {
    var total = 0
    return zip(Self.bounds.map { Optional($0) } + [nil], counts).map { bound, count in
      total += count
      return (bound, total)
    }
  }
}
#endif
