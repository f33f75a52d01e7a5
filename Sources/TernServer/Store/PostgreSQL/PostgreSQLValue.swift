#if PostgreSQL
import CPostgreSQL

/// A parameter of a statement, in PostgreSQL's binary form.
struct PostgreSQLValue {
  let type: Oid
  /// `nil` for NULL.
  let bytes: [UInt8]?

  /// Of which the arrays' elements are.
  private enum BinaryType: Oid {
    case bytes = 17
    case integer = 20
    case text = 25

    var array: Oid {
      switch self {
      case .bytes: 1001
      case .integer: 1016
      case .text: 1009
      }
    }
  }

  /// Of columns that an answer has.
  static let integerType = BinaryType.integer.rawValue
  static let bytesType = BinaryType.bytes.rawValue

  private init(_ kind: BinaryType, _ bytes: [UInt8]?) {
    (type, self.bytes) = (kind.rawValue, bytes)
  }

  static func integer(_ value: Int64?) -> Self { .init(.integer, value?.bigEndianBytes) }
  static func integer(_ value: Int?) -> Self { .integer(value.map { Int64($0) }) }
  static func integer(_ value: Bool) -> Self { .integer(value ? 1 : 0 as Int64) }
  /// A zero byte, which its texts can't have, becomes U+FFFD.
  static func text(_ value: String?) -> Self {
    .init(.text, value.map { Array($0.replacing("\0", with: "\u{FFFD}").utf8) })
  }
  static func bytes(_ value: [UInt8]?) -> Self { .init(.bytes, value) }

  static func integers(_ values: [Int64]) -> Self {
    .init(array: .integer, values.map(\.bigEndianBytes))
  }

  static func texts(_ values: [String]) -> Self {
    .init(array: .text, values.map { Array($0.utf8) })
  }

  static func byteStrings(_ values: [[UInt8]]) -> Self { .init(array: .bytes, values) }

  /// One dimension, counted from 1.
  private init(array kind: BinaryType, _ elements: [[UInt8]]) {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(20 + elements.reduce(0) { $0 + 4 + $1.count })
    func append(_ number: Int32) { bytes += number.bigEndianBytes }
    // An empty array has no dimension.
    append(elements.isEmpty ? 0 : 1)
    append(0)
    append(Int32(kind.rawValue))
    if !elements.isEmpty {
      append(Int32(elements.count))
      append(1)
    }
    for element in elements {
      append(Int32(element.count))
      bytes += element
    }
    (type, self.bytes) = (kind.array, bytes)
  }
}

extension FixedWidthInteger {
  fileprivate var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}
#endif
