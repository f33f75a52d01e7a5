/// Where a row stands in a list: the value of a column whose rule is ``MergeRule/order``.
///
/// Keys are texts that sort by their bytes, so that `ORDER BY position` is the order. Between any
/// two there is room for another, and two devices that place rows at one spot get different keys.
///
/// A key is a path of numbers and a random tail: `V.k3XbQ0`. A number takes more characters the
/// further it is from the middle, and what is placed between two neighbouring numbers gets a number
/// behind the lesser one. Rows added at an end, or each behind the last, so take keys that grow
/// with the logarithm of their count.
///
/// - Source: paths of numbers are those of Weiss, Urso and Molli, "Logoot" (2009); numbers of
///   either sign, of any length at every level, and the one tail that ends a path are ours.
public struct OrderKey: Hashable, Sendable {
  package let bytes: [UInt8]

  package enum Limit {
    /// The most bytes of a key.
    package static let bytes = 63
  }

  /// Reads a column's value; `nil` for a text that no key is.
  public init?(_ text: some StringProtocol) {
    self.init(bytes: Array(text.utf8))
  }

  package init?(bytes: [UInt8]) {
    guard Self.parts(of: bytes) != nil else { return nil }
    self.bytes = bytes
  }

  /// What the column holds.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  // MARK: - Parts

  /// A part of a key. In this order a tail sorts before every number.
  enum Part: Hashable {
    case number(Int)
    /// Ends the path of what was placed; what is placed right behind it follows. Its characters,
    /// the first in the highest byte.
    case tail(UInt64)
  }

  /// Before every digit, so that a row stands before those that were placed behind it.
  private static let tailMark = UInt8(ascii: ".")
  /// 62⁶ tails: 36 bits.
  static let tailCount = 6

  /// - Returns: `nil` for bytes that no key has.
  private static func parts(of bytes: [UInt8]) -> [Part]? {
    guard bytes.count <= Limit.bytes else { return nil }
    var parts: [Part] = []
    var index = 0
    while index < bytes.count {
      if bytes[index] == tailMark {
        guard case .number = parts.last, index + tailCount < bytes.count else { return nil }
        var tail: UInt64 = 0
        for offset in 1...tailCount {
          guard OrderDigits.value(bytes[index + offset]) != nil else { return nil }
          tail = tail << 8 | UInt64(bytes[index + offset])
        }
        parts.append(.tail(tail))
        index += 1 + tailCount
      } else {
        guard let number = OrderDigits.readNumber(bytes, &index) else { return nil }
        parts.append(.number(number))
      }
    }
    guard case .tail = parts.last else { return nil }
    return parts
  }

  var parts: [Part] {
    guard let parts = Self.parts(of: bytes) else {
      preconditionFailure("an order key that was checked is none: \(text)")
    }
    return parts
  }

  /// - Returns: `nil` for what would be too long.
  init?(_ prefix: ArraySlice<Part>, _ number: Int, tail: UInt64, limit: Int) {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Limit.bytes)
    for part in prefix {
      switch part {
      case .number(let number): OrderDigits.append(number, to: &bytes)
      case .tail(let tail): Self.append(tail, to: &bytes)
      }
    }
    OrderDigits.append(number, to: &bytes)
    Self.append(tail, to: &bytes)
    guard bytes.count <= min(limit, Limit.bytes) else { return nil }
    self.bytes = bytes
  }

  private static func append(_ tail: UInt64, to bytes: inout [UInt8]) {
    bytes.append(tailMark)
    for index in 1...tailCount {
      bytes.append(UInt8(truncatingIfNeeded: tail >> (8 * UInt64(tailCount - index))))
    }
  }
}

extension OrderKey: Comparable {
  /// The order of the bytes, as SQLite's BINARY has it.
  public static func < (left: OrderKey, right: OrderKey) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }
}

extension OrderKey: CustomStringConvertible {
  public var description: String { text }
}
