import Foundation

/// The functions of a file, how long they are, and whose methods they are: as far as its text tells,
/// which `swift format` has laid out.
struct CodeShape {
  struct Function {
    let name: String
    /// From 1.
    let line: Int
    /// From its first line to its closing brace.
    let lines: Int
    /// The type that it is a method of, with those around that.
    let type: String?
  }

  private struct Scope {
    let indentation: Int
    /// `nil` for a function.
    let type: String?
  }

  private(set) var functions: [Function] = []

  init(_ text: String) {
    let code = TestSource.code(of: text.components(separatedBy: "\n"))
    let indentations = code.map { line in
      let spaces = line.utf8.prefix { $0 == UInt8(ascii: " ") }.count
      return spaces == line.utf8.count ? nil : spaces
    }
    var scopes: [Scope] = []
    for (index, line) in code.enumerated() {
      guard let indentation = indentations[index] else { continue }
      let start = line.dropFirst(indentation)
      // These go on with the line before, or belong to no scope.
      if start.hasPrefix("#") || Self.goesOn(start) { continue }
      while let last = scopes.last, last.indentation >= indentation { scopes.removeLast() }
      let outer = scopes.last?.type
      if let type = Self.type(start) {
        let name = outer.map { "\($0).\(type)" } ?? type
        scopes.append(Scope(indentation: indentation, type: name))
      } else if let name = Self.function(start) {
        let isMethod = scopes.last.map { $0.type != nil } ?? false
        functions.append(
          Function(
            name: name, line: index + 1,
            lines: Self.lines(from: index, indentation, code, indentations),
            type: isMethod ? outer : nil))
        scopes.append(Scope(indentation: indentation, type: nil))
      }
    }
  }

  private static func type(_ line: Substring) -> String? {
    guard hasWord(line, among: ["actor", "class", "enum", "extension", "protocol", "struct"]) else {
      return nil
    }
    let type = #/^([@\w()]+ )*(actor|class|enum|extension|protocol|struct) ([A-Z][\w.]*)/#
    return line.firstMatch(of: type).map { String($0.output.3) }
  }

  private static func function(_ line: Substring) -> String? {
    guard hasWord(line, among: ["func", "init", "subscript"]) else { return nil }
    let function = #/^([@\w()]+ )*(func (`[^`]+`|[^\s(<]+)|init\??[(<]|subscript[(<])/#
    return line.firstMatch(of: function).map {
      $0.output.3.map(String.init) ?? String($0.output.2.prefix { $0.isLetter })
    }
  }

  /// A word of a declaration, which stands behind its attributes and modifiers.
  private static func hasWord(_ line: Substring, among words: Set<String>) -> Bool {
    for word in line.utf8.split(separator: UInt8(ascii: " "), maxSplits: 8) {
      let name = word.prefix { $0 >= 97 && $0 <= 122 }
      if name.isEmpty && word.first != UInt8(ascii: "@") { return false }
      if name.count >= 4, words.contains(String(Substring(name))) { return true }
    }
    return false
  }

  /// Whether a line goes on with the declaration before it.
  private static func goesOn(_ line: Substring) -> Bool {
    guard let first = line.utf8.first else { return false }
    return "{)>]".utf8.contains(first) || line.hasPrefix("where") || line.hasPrefix("->")
  }

  /// One for what has no body.
  private static func lines(
    from start: Int, _ indentation: Int, _ code: [String], _ indentations: [Int?]
  ) -> Int {
    var hasOpened = false
    for index in start..<code.count {
      guard let depth = indentations[index] else { continue }
      let line = code[index]
      let rest = line.dropFirst(depth)
      if index > start {
        if depth < indentation { return 1 }
        if depth == indentation, hasOpened, rest.hasPrefix("}") { return index - start + 1 }
        // The next declaration begins: there was no body.
        if depth == indentation, !hasOpened, !goesOn(rest) { return 1 }
      }
      if line.utf8.last == UInt8(ascii: "{") { hasOpened = true }
      // A body of one line.
      if !hasOpened, depth == indentation, line.utf8.last == UInt8(ascii: "}") {
        return index - start + 1
      }
    }
    return 1
  }
}
