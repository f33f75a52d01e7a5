extension String {
  /// As a terminal can show it: what it would obey is written out, as `\u{1B}` is.
  ///
  /// - Parameters:
  ///   - keepsLines: whether line breaks and tabs stay what they are.
  ///   - isJSON: whether this is a JSON document, whose strings say the same afterwards.
  package func shown(keepsLines: Bool = false, isJSON: Bool = false) -> String {
    guard unicodeScalars.contains(where: \.isObeyed) else { return self }
    var shown = String.UnicodeScalarView()
    for scalar in unicodeScalars {
      let isKept = !scalar.isObeyed || keepsLines && (scalar == "\n" || scalar == "\t")
      if isKept {
        shown.append(scalar)
      } else if isJSON {
        // All of them are of four digits.
        let digits = String(scalar.value, radix: 16)
        shown.append(
          contentsOf: "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)"
            .unicodeScalars)
      } else {
        shown.append(contentsOf: scalar.escaped(asASCII: true).unicodeScalars)
      }
    }
    return String(shown)
  }
}

extension Unicode.Scalar {
  /// Whether a terminal obeys it in place of showing it: a control character, a line's end, or what
  /// turns the direction in which the text after it is shown.
  ///
  /// - Source: Unicode Standard Annex #9, section 2, "Directional Formatting Characters".
  package var isObeyed: Bool {
    switch value {
    case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}
