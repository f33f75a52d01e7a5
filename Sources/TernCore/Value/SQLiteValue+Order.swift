extension SQLiteValue: Comparable {
  /// SQLite's order over types: NULL, then numbers, then text, then blobs, the last two by bytes.
  ///
  /// The order is total: numbers that are equal but stored differently (1 and 1.0, 0.0 and −0.0)
  /// are ordered by type and then by bits, so that every replica picks the same one.
  ///
  /// - Source: <https://www.sqlite.org/datatype3.html#sort_order>
  public static func < (left: SQLiteValue, right: SQLiteValue) -> Bool {
    switch (left, right) {
    case (.integer(let left), .integer(let right)): left < right
    case (.real(let left), .real(let right)):
      left != right ? left < right : left.sign == .minus && right.sign == .plus
    case (.integer(let left), .real(let right)): !isBelow(right, left)
    case (.real(let left), .integer(let right)): isBelow(left, right)
    case (.text(let left), .text(let right)), (.blob(let left), .blob(let right)):
      left.lexicographicallyPrecedes(right)
    default: left.rank < right.rank
    }
  }

  private var rank: Int {
    switch self {
    case .null: 0
    case .integer, .real: 1
    case .text: 2
    case .blob: 3
    }
  }

  /// Whether a double is less than an integer, exactly, beyond 2⁵³ too. Equal is not below.
  private static func isBelow(_ real: Double, _ integer: Int64) -> Bool {
    if real.isNaN { return true }
    if real >= 0x1p63 { return false }
    if real < -0x1p63 { return true }
    let whole = Int64(real.rounded(.down))
    return whole < integer
  }
}
