import struct Foundation.Date

/// A point in hybrid logical time: 48 bits of milliseconds since 1970, then a counter of 16 bits.
///
/// - Source: Kulkarni, Demirbas et al., "Logical Physical Clocks" (2014).
public struct HybridTime: Hashable, Sendable {
  public let rawValue: UInt64

  /// Before every time that an operation can carry.
  public static let zero = HybridTime(rawValue: 0)
  /// The greatest milliseconds that a clock gives and an operation carries: the year 6429.
  ///
  /// The top bit stays free, so that a time is also a positive `Int64`, and so that no peer can
  /// bring a time that has no next one.
  package static let maximumMilliseconds: Int64 = 1 << 47 - 1

  /// What a clock can be believed to show: up to the year 4199, so that no remote's clock brings a
  /// replica near the end of time.
  package static let believedMilliseconds: ClosedRange<Int64> = 0...(1 << 46)

  @inlinable
  public init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// A time with a counter of 0; milliseconds out of range are clamped into it.
  public init(milliseconds: Int64) {
    rawValue = UInt64(min(max(milliseconds, 0), Self.maximumMilliseconds)) << 16
  }

  public var milliseconds: Int64 { Int64(rawValue >> 16) }
  /// The same to the millisecond; the counter is left out.
  public var date: Date { Date(milliseconds: milliseconds) }
  package var counter: UInt16 { UInt16(truncatingIfNeeded: rawValue) }

  /// The next time to issue: strictly after `self`, and not before the wall clock.
  ///
  /// When the counter is full, the milliseconds move ahead by one.
  package func next(atMilliseconds wall: Int64) -> HybridTime {
    let (following, isLast) = rawValue.addingReportingOverflow(1)
    return max(isLast ? self : HybridTime(rawValue: following), HybridTime(milliseconds: wall))
  }
}

extension HybridTime: Comparable {
  @inlinable
  public static func < (left: HybridTime, right: HybridTime) -> Bool {
    left.rawValue < right.rawValue
  }
}

extension HybridTime: CustomStringConvertible {
  public var description: String { "\(milliseconds).\(counter)" }
}
