import Foundation

/// The functions of a file of tests, as far as its text tells, which `swift format` has laid out: a
/// body ends with the first `}` that stands below its `func`.
struct TestSource {
  struct Function {
    let name: String
    let isTest: Bool
    /// Of the attribute, or of the `func`.
    let line: Int
    /// The lines between its braces.
    let body: Range<Int>
  }

  let lines: [String]
  /// The lines without comments, and without what stands in strings.
  let code: [String]
  let functions: [Function]

  init(_ text: String) {
    lines = text.components(separatedBy: "\n")
    code = Self.code(of: lines)
    functions = Self.functions(in: code)
  }

  /// - Returns: how far a line is indented; `nil` where it is empty.
  func indentation(of index: Int) -> Int? { Self.indentation(of: code[index]) }

  private static func indentation(of line: String) -> Int? {
    line.firstIndex { $0 != " " }.map { line.distance(from: line.startIndex, to: $0) }
  }

  private static func functions(in code: [String]) -> [Function] {
    var functions: [Function] = []
    var attribute: Int?
    for index in code.indices {
      if code[index].contains("@Test") { attribute = index }
      guard code[index].contains("func "),
        let name = code[index].firstMatch(of: #/\bfunc (`[^`]+`|\w+)/#)?.1
      else { continue }
      if let body = body(of: index, in: code) {
        functions.append(
          Function(
            name: String(name), isTest: attribute != nil, line: attribute ?? index, body: body))
      }
      attribute = nil
    }
    return functions
  }

  /// - Returns: `nil` for a requirement of a protocol.
  private static func body(of start: Int, in code: [String]) -> Range<Int>? {
    for index in start..<code.count {
      if index > start, code[index].contains("func ") { return nil }
      let line = code[index].trimmingCharacters(in: .whitespaces)
      if line.hasSuffix("}"), line.contains("{") { return index..<index + 1 }
      guard line.hasSuffix("{") else { continue }
      let indentation = indentation(of: code[start]) ?? 0
      let brace = String(repeating: " ", count: indentation) + "}"
      let end = code[(index + 1)...].firstIndex { $0.hasPrefix(brace) }
      return index + 1..<(end ?? code.count)
    }
    return nil
  }

  static func code(of lines: [String]) -> [String] {
    // The end of the string of several lines that is open.
    var delimiter: String?
    let special = "\"`/".utf8
    return lines.map { line in
      if delimiter == nil, !line.utf8.contains(where: special.contains) { return line }
      var (rest, code) = (Substring(line), "")
      if let end = delimiter {
        let text = rest.drop { $0 == " " }
        guard text.hasPrefix(end) else { return "" }
        rest = text.dropFirst(end.count)
        code = String(line.prefix { $0 == " " }) + "\"\""
        delimiter = nil
      }
      while let first = rest.first, !rest.hasPrefix("//") {
        if first == "`", let end = rest.dropFirst().firstIndex(of: "`") {
          code += rest[...end]
          rest = rest[rest.index(after: end)...]
        } else if first == "\"" {
          let hashes = String(repeating: "#", count: code.reversed().prefix { $0 == "#" }.count)
          code += "\"\""
          if rest.hasPrefix("\"\"\"") {
            delimiter = "\"\"\"" + hashes
            break
          }
          rest = afterString(rest.dropFirst(), hashes)
        } else {
          code.append(rest.removeFirst())
        }
      }
      return code.replacing(#/ +$/#, with: "")
    }
  }

  /// - Returns: what follows the end of a string, past its interpolations.
  private static func afterString(_ text: Substring, _ hashes: String) -> Substring {
    var rest = text
    while !rest.isEmpty {
      if rest.hasPrefix("\"" + hashes) { return rest.dropFirst(1 + hashes.count) }
      if rest.hasPrefix("\\\(hashes)(") {
        rest = afterParenthesis(rest.dropFirst(2 + hashes.count))
      } else {
        rest = rest.dropFirst(rest.hasPrefix("\\" + hashes) ? 2 + hashes.count : 1)
      }
    }
    return rest
  }

  private static func afterParenthesis(_ text: Substring) -> Substring {
    var (rest, depth) = (text, 1)
    while depth > 0, let first = rest.popFirst() {
      if first == "\"" { rest = afterString(rest, "") }
      if first == "(" { depth += 1 }
      if first == ")" { depth -= 1 }
    }
    return rest
  }
}
