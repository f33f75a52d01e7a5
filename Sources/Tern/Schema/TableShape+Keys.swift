import TernCore
import TernDatabase

extension TableShape {
  /// Whether the table holds a key as it is.
  ///
  /// SQLite makes the text '1' of the number 1 in a TEXT column, and the other way round in an
  /// INTEGER column. No author with such a column writes what its table would change; taken from
  /// another, two keys of the state would stand for one row.
  ///
  /// - Source: <https://www.sqlite.org/datatype3.html#type_affinity>
  func holds(_ key: [WireValue]) -> Bool {
    zip(keyAffinities, key).allSatisfy { affinity, value in
      switch (affinity, value.tag) {
      case (.text, .integer), (.text, .negative), (.text, .integer64), (.text, .real): false
      case (.integer, .text), (.real, .text), (.numeric, .text): !value.content.isNumber
      default: true
      }
    }
  }
}

extension TableShape {
  /// Whether the table can hold 1 or 1.0 as one key: as whichever was written.
  var keyHoldsLookalikes: Bool { keyAffinities.contains(.blob) }
}

extension WireValue {
  /// The form that equal keys share: the whole number in place of a real that is one.
  var inKey: WireValue {
    guard tag == .real, let whole = Int64(exactly: Double(bitPattern: bits)) else { return self }
    return WireValue(whole < 0 ? .negative : .integer, bits: UInt64(bitPattern: whole))
  }
}

extension UnsafeRawBufferPointer {
  /// Whether SQLite reads the text as a number, spaces around it included.
  var isNumber: Bool {
    var rest = self[...]
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
    func isSign(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") }
    func skipDigits() -> Int {
      let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count
      rest = rest.dropFirst(digits)
      return digits
    }
    func skip(_ isWanted: (UInt8) -> Bool) -> Bool {
      guard let first = rest.first, isWanted(first) else { return false }
      rest = rest.dropFirst()
      return true
    }
    rest = rest.drop(while: isSpace)
    _ = skip(isSign)
    var digits = skipDigits()
    if skip({ $0 == UInt8(ascii: ".") }) { digits += skipDigits() }
    if digits == 0 { return false }
    if skip({ $0 | 0x20 == UInt8(ascii: "e") }) {
      _ = skip(isSign)
      if skipDigits() == 0 { return false }
    }
    return rest.allSatisfy(isSpace)
  }
}

extension FastStatement {
  /// The key that the statement yields, from a column on.
  func packedKey(_ shape: TableShape, from column: Int32 = 0) -> [UInt8] {
    var key = ByteWriter()
    for index in shape.keyColumns.indices { key.append(key: value(column + Int32(index))) }
    return key.bytes
  }
}
