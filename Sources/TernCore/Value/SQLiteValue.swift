/// One SQLite value, equal only when type and bytes are equal.
///
/// Text is kept as bytes, because SQLite stores text that is not valid UTF-8, and doubles are
/// compared by their bit pattern, so 0.0 and −0.0 are different values.
public enum SQLiteValue: Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text([UInt8])
  case blob([UInt8])

  /// A text value from a Swift string.
  public static func string(_ text: some StringProtocol) -> SQLiteValue {
    .text(Array(text.utf8))
  }

  /// The text of a text value when it is valid UTF-8.
  public var string: String? {
    guard case .text(let bytes) = self else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }
}

extension SQLiteValue: Hashable {
  public static func == (left: SQLiteValue, right: SQLiteValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.integer(let left), .integer(let right)): left == right
    case (.real(let left), .real(let right)): left.bitPattern == right.bitPattern
    case (.text(let left), .text(let right)), (.blob(let left), .blob(let right)): left == right
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .integer(let value): hasher.combine(value)
    case .real(let value): hasher.combine(value.bitPattern)
    case .text(let bytes), .blob(let bytes): hasher.combine(bytes)
    }
  }
}

extension SQLiteValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral
{
  public init(stringLiteral text: String) { self = .string(text) }
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .real(value) }
}

extension SQLiteValue: CustomStringConvertible {
  public var description: String {
    switch self {
    case .null: "NULL"
    case .integer(let value): "\(value)"
    case .real(let value): "\(value)"
    case .text(let bytes): "'\(String(decoding: bytes, as: UTF8.self))'"
    case .blob(let bytes):
      "x'\(bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())'"
    }
  }
}
