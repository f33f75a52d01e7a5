import TernCore

/// An SQL statement as SQLite keeps it, cut into its words.
///
/// - Source: <https://www.sqlite.org/lang_keywords.html>,
///   <https://www.sqlite.org/lang_comment.html>
struct SQLText {
  enum Kind {
    /// A name or keyword without quotes, or a number.
    case word
    /// A name or a text, in quotes of any kind.
    case quoted
    /// One other character.
    case symbol
  }

  struct Token {
    let kind: Kind
    let range: Range<Int>
    /// As it stands, quotes included.
    let text: String
    /// How many parentheses are open around it; its own count for neither.
    let depth: Int

    func isWord(_ keyword: String) -> Bool { kind == .word && text.folded == keyword }
    func isSymbol(_ symbol: String) -> Bool { kind == .symbol && text == symbol }

    /// Whether it can be nothing but a name, as the whole of an expression.
    var isName: Bool {
      let words = ["null", "true", "false", "current_date", "current_time", "current_timestamp"]
      return kind == .quoted
        ? !text.hasPrefix("'")
        : kind == .word && !(text.first?.isNumber ?? true) && !words.contains(text.folded)
    }

    /// The name that it stands for, without quotes.
    var name: String {
      guard kind == .quoted, let quote = text.last else { return text }
      let inner = String(text.dropFirst().dropLast())
      return quote == "]" ? inner : inner.replacing("\(quote)\(quote)", with: "\(quote)")
    }
  }

  let bytes: [UInt8]
  let tokens: [Token]

  /// Comments and spaces are between tokens; what ends too early ends with the statement.
  init(_ text: String) {
    bytes = Array(text.utf8)
    var tokens: [Token] = []
    var depth = 0
    var place = 0
    while place < bytes.count {
      let (kind, end) = SQLText.next(bytes, place)
      defer { place = end }
      guard let kind else { continue }
      let text = String(decoding: bytes[place..<end], as: UTF8.self)
      if kind == .symbol, text == ")" { depth -= 1 }
      tokens.append(Token(kind: kind, range: place..<end, text: text, depth: depth))
      if kind == .symbol, text == "(" { depth += 1 }
    }
    self.tokens = tokens
  }

  /// - Returns: where the token, comment or space that begins at `start` ends.
  private static func next(_ bytes: [UInt8], _ start: Int) -> (Kind?, Int) {
    func find(_ end: String, from: Int) -> Int {
      let wanted = Array(end.utf8)
      var place = from
      while place + wanted.count <= bytes.count {
        if bytes[place..<(place + wanted.count)].elementsEqual(wanted) {
          return place + wanted.count
        }
        place += 1
      }
      return bytes.count
    }
    let byte = bytes[start]
    let following = start + 1 < bytes.count ? bytes[start + 1] : 0
    switch byte {
    case 0x20, 0x09...0x0D: return (nil, start + 1)
    // SQLite takes a byte order mark for a space, wherever it stands.
    case 0xEF where bytes[start...].starts(with: [0xEF, 0xBB, 0xBF]): return (nil, start + 3)
    case UInt8(ascii: "-") where following == byte: return (nil, find("\n", from: start))
    case UInt8(ascii: "/") where following == UInt8(ascii: "*"):
      return (nil, find("*/", from: start + 2))
    case UInt8(ascii: "["): return (.quoted, find("]", from: start))
    case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"):
      var place = start + 1
      while place < bytes.count {
        if bytes[place] == byte {
          guard place + 1 < bytes.count, bytes[place + 1] == byte else { break }
          place += 1
        }
        place += 1
      }
      return (.quoted, min(place + 1, bytes.count))
    case let byte where isNamePart(byte):
      return (.word, start + bytes[start...].prefix(while: isNamePart).count)
    default: return (.symbol, start + 1)
    }
  }

  private static func isNamePart(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
      true
    default: false
    }
  }

  /// What a virtual table's declaration says of an option: `name = value`.
  func argument(_ name: String) -> String? {
    for index in tokens.indices.dropLast(2)
    where tokens[index].name.folded == name && tokens[index + 1].isSymbol("=") {
      return tokens[index + 2].name
    }
    return nil
  }
}
