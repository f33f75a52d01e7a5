/// What the parser of the command line says, in the person's language. Its own words are English, and
/// are found by the English words of the program, which are the same; what is not among them stays.
enum Phrasebook {
  private static let words = Word.allCases.filter { $0.rawValue.hasPrefix("parser") }

  static func translated(_ message: String) -> String {
    guard Words.language != "en" else { return message }
    return message.split(separator: "\n", omittingEmptySubsequences: false)
      .map { translated(line: $0) }.joined(separator: "\n")
  }

  /// A line can hold a sentence in another: “Error: Missing …”.
  private static func translated(line: Substring) -> String {
    for word in words {
      guard let found = match(line, Words.english[word] ?? "") else { continue }
      let values = found.values.map { translated(line: $0) }
      return translated(line: found.before) + word.text(with: values)
        + translated(line: found.after)
    }
    return String(line)
  }

  private typealias Found = (before: Substring, values: [Substring], after: Substring)

  /// - Returns: `nil` where the line does not hold the pattern.
  private static func match(_ line: Substring, _ pattern: String) -> Found? {
    let pieces = pattern.split(separator: "{}", omittingEmptySubsequences: false)
    guard let first = pieces.first, !pattern.isEmpty else { return nil }
    // One that begins with a value is a line of its own, behind what marks an error.
    let beginning = line.startIndex..<line.startIndex
    guard let start = first.isEmpty ? beginning : line.firstRange(of: first) else { return nil }
    var (rest, values) = (line[start.upperBound...], [Substring]())
    for (index, piece) in pieces.enumerated().dropFirst() {
      let isLast = index == pieces.count - 1
      let end = isLast && piece.isEmpty ? rest.endIndex..<rest.endIndex : rest.firstRange(of: piece)
      guard let end else { return nil }
      values.append(rest[..<end.lowerBound])
      rest = rest[end.upperBound...]
    }
    return (line[..<start.lowerBound], values, rest)
  }
}
