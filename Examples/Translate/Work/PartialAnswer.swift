/// What stands of a translation so far, in a document of JSON that is still arriving.
enum PartialAnswer {
  /// - Returns: `nil` before the member has begun.
  static func translation(in document: String) -> String? {
    var scanner = Scanner(rest: document.unicodeScalars[...])
    // In the outer object only: an alternative may be the same word.
    var (depth, key) = (0, String?.none)
    while let scalar = scanner.rest.popFirst() {
      switch scalar {
      case "{", "[": (depth, key) = (depth + 1, nil)
      case "}", "]": depth -= 1
      case ",": key = nil
      case "\"":
        let (text, isWhole) = scanner.string()
        if key == "translation", depth == 1 { return text }
        guard isWhole else { return nil }
        if depth == 1, key == nil { key = text }
      default: break
      }
    }
    return nil
  }

  /// - Source: RFC 8259, section 7, "Strings".
  private struct Scanner {
    var rest: Substring.UnicodeScalarView

    /// A string after its first mark; of one that is cut, what can be read.
    mutating func string() -> (text: String, isWhole: Bool) {
      var text = String.UnicodeScalarView()
      while let scalar = rest.popFirst() {
        switch scalar {
        case "\"": return (String(text), true)
        case "\\":
          guard let escaped = escape() else { return (String(text), false) }
          text.append(escaped)
        default: text.append(scalar)
        }
      }
      return (String(text), false)
    }

    private mutating func escape() -> Unicode.Scalar? {
      switch rest.popFirst() {
      case "n"?: return "\n"
      case "t"?: return "\t"
      case "r"?: return "\r"
      case "b"?: return "\u{8}"
      case "f"?: return "\u{C}"
      case "u"?:
        guard let unit = unit() else { return nil }
        if let scalar = Unicode.Scalar(UInt32(unit)) { return scalar }
        // The first of a pair of UTF-16's, and its second.
        guard rest.popFirst() == "\\", rest.popFirst() == "u", let second = self.unit() else {
          return nil
        }
        var decoder = UTF16()
        var units = [unit, second].makeIterator()
        guard case .scalarValue(let scalar) = decoder.decode(&units) else { return nil }
        return scalar
      case let scalar: return scalar
      }
    }

    private mutating func unit() -> UInt16? {
      let digits = rest.prefix(4)
      guard digits.count == 4 else { return nil }
      rest.removeFirst(4)
      return UInt16(String(digits), radix: 16)
    }
  }
}
