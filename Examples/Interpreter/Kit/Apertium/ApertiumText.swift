/// A text on its way through Apertium's programs, which pass formatting by in square brackets and
/// take some characters for their own.
///
/// - Source: Apertium's documentation, "Apertium stream format".
enum ApertiumText {
  private static let reserved: Set<Character> = [
    "^", "$", "/", "<", ">", "{", "}", "\\", "[", "]",
  ]
  /// What marks words that could not be translated: unknown, without a translation, without a form.
  private static let marks: Set<Character> = ["*", "@", "#"]

  /// A text as the first program wants it.
  ///
  /// - Returns: whether it ends with a full stop that is none of the text's, so that its last words
  ///   are a sentence, too.
  static func formatted(_ text: String) -> (stream: String, hasStop: Bool) {
    var stream = ""
    for character in text {
      if character == "\0" {
        // It would end the text.
        stream.append(" ")
      } else if character.isNewline || marks.contains(character) {
        stream += "[\(character)]"
      } else {
        if reserved.contains(character) { stream.append("\\") }
        stream.append(character)
      }
    }
    let hasStop = !(text.last.map { ".!?…:;".contains($0) } ?? true)
    return (stream + (hasStop ? ".[]" : "[]"), hasStop)
  }

  /// What the last program printed, as a text.
  ///
  /// - Returns: the text without marks, and how many words had one.
  static func plain(_ stream: String, hasStop: Bool) -> (text: String, marked: Int) {
    var text = ""
    var marked = 0
    var isBlank = false
    let isStopped = hasStop && stream.hasSuffix(".[]")
    var characters = isStopped ? stream.dropLast(3) : stream[...]
    while let character = characters.popFirst() {
      switch character {
      case "\\": if let next = characters.popFirst() { text.append(next) }
      case "[" where !isBlank: isBlank = true
      case "]" where isBlank: isBlank = false
      case _ where !isBlank && marks.contains(character): marked += 1
      default: text.append(character)
      }
    }
    return (text, marked)
  }
}
