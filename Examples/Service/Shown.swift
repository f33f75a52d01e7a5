extension String {
  /// As it can be shown: what a terminal would obey is written out. That is control characters, ends
  /// of lines, and what turns the direction of the text after it.
  ///
  /// - Parameter keepsLines: whether line breaks and tabs stay what they are.
  package func shown(keepsLines: Bool = false) -> String {
    var shown = ""
    for scalar in unicodeScalars {
      let isKept = keepsLines && (scalar == "\n" || scalar == "\t")
      if Self.isObeyed(scalar), !isKept {
        shown += scalar.escaped(asASCII: true)
      } else {
        shown.unicodeScalars.append(scalar)
      }
    }
    return shown
  }

  /// - Source: Unicode Standard Annex #9, section 2, "Directional Formatting Characters".
  private static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}
