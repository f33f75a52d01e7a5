/// What Swift code declares, as far as links in comments name it.
struct Declarations {
  private(set) var names: Set<Substring> = []
  /// Of functions, initialisers, subscripts and cases, as DocC writes them: `open(_:schema:)`.
  private(set) var signatures: Set<Substring> = []

  private static let keywords: Set<Substring> = [
    "actor", "associatedtype", "case", "class", "enum", "func", "let", "protocol", "struct",
    "typealias", "var",
  ]
  private static let unnamed: Set<Substring> = ["init", "subscript"]

  mutating func add(_ lines: [Line]) {
    let code = lines.map { Self.tokens($0.text.prefix { $0 != "/" }) }
    // Several names can follow one `case`.
    for line in code where line.contains("case") { names.formUnion(line) }
    let tokens = code.flatMap { $0 }
    for index in tokens.indices.dropFirst() {
      let (before, token) = (tokens[index - 1], tokens[index])
      guard Self.keywords.contains(before) || Self.unnamed.contains(token) else { continue }
      names.insert(token)
      if let labels = Self.labels(tokens[(index + 1)...]) {
        signatures.insert("\(token)(\(labels))")
      }
    }
  }

  /// Words, and every other character by itself.
  private static func tokens(_ line: Substring) -> [Substring] {
    var (tokens, rest) = ([Substring](), line)
    while let first = rest.first {
      let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
      if !" `".contains(first) { tokens.append(word.isEmpty ? rest.prefix(1) : word) }
      rest = rest.dropFirst(max(word.count, 1))
    }
    return tokens
  }

  /// Of the parameters that begin here; `nil` where none do.
  private static func labels(_ tokens: ArraySlice<Substring>) -> String? {
    var (parameters, depth, isOpen, before) = ([[Substring]](), 0, false, "" as Substring)
    for token in tokens {
      defer { before = token }
      if ["(", "[", "{", "<"].contains(token) { depth += 1 }
      if [")", "]", "}"].contains(token) || token == ">" && before != "-" { depth -= 1 }
      if isOpen, depth == 0 { break }
      if depth == 1, token == (isOpen ? "," : "(") {
        parameters.append([])
        isOpen = true
      } else if isOpen {
        parameters[parameters.count - 1].append(token)
      } else if depth == 0, !["?", "!", ">"].contains(token) {
        return nil
      }
    }
    // A label, perhaps a name, and a colon.
    return parameters.filter { !$0.isEmpty }
      .map { $0.prefix(3).contains(":") ? "\($0[0]):" : "_:" }.joined()
  }
}
