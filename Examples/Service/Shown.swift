extension String {
  /// As it can be shown: what a terminal would obey, control characters that is, is written out.
  ///
  /// - Parameter keepsLines: whether line breaks and tabs stay what they are.
  package func shown(keepsLines: Bool = false) -> String {
    var shown = ""
    for scalar in unicodeScalars {
      let isKept = keepsLines && (scalar == "\n" || scalar == "\t")
      if scalar.properties.generalCategory == .control, !isKept {
        shown += scalar.escaped(asASCII: true)
      } else {
        shown.unicodeScalars.append(scalar)
      }
    }
    return shown
  }
}
