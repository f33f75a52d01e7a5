/// A text on its way through Apertium's programs, which pass formatting by in square brackets and
/// take some characters for their own.
///
/// - Source: Apertium's documentation, "Apertium stream format".
enum ApertiumText {
  private static let reserved: Set<Unicode.Scalar> = [
    "^", "$", "/", "<", ">", "{", "}", "\\", "[", "]",
  ]
  /// What marks words that could not be translated: unknown, without a translation, without a form.
  private static let marks: Set<Unicode.Scalar> = ["*", "@", "#"]

  /// A text as the first program wants it.
  ///
  /// - Returns: whether it ends with a full stop that is none of the text's, so that its last words
  ///   are a sentence, too.
  static func formatted(_ text: String) -> (stream: String, hasStop: Bool) {
    var stream = String.UnicodeScalarView()
    // The programs know no grapheme: a reserved character is one whatever mark follows it.
    for scalar in text.unicodeScalars {
      if scalar == "\0" {
        // It would end the text.
        stream.append(" ")
      } else if Character(scalar).isNewline || marks.contains(scalar) {
        stream.append(contentsOf: ["[", scalar, "]"])
      } else {
        if reserved.contains(scalar) { stream.append("\\") }
        stream.append(scalar)
      }
    }
    let hasStop = !(text.last.map { ".!?…:;".contains($0) } ?? true)
    return (String(stream) + (hasStop ? ".[]" : "[]"), hasStop)
  }

  /// What the last program printed, as a text.
  ///
  /// - Returns: the text without marks, and how many words had one.
  static func plain(_ stream: String, hasStop: Bool) -> (text: String, marked: Int) {
    var text = String.UnicodeScalarView()
    var marked = 0
    var isBlank = false
    let isStopped = hasStop && stream.hasSuffix(".[]")
    var scalars = (isStopped ? stream.dropLast(3) : stream[...]).unicodeScalars
    while let scalar = scalars.popFirst() {
      switch scalar {
      case "\\": if let next = scalars.popFirst() { text.append(next) }
      case "[" where !isBlank: isBlank = true
      case "]" where isBlank: isBlank = false
      case _ where !isBlank && marks.contains(scalar): marked += 1
      default: text.append(scalar)
      }
    }
    return (String(text), marked)
  }
}
