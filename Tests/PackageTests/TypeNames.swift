/// The types that a Swift file declares, and the words in it that may name a type.
///
/// It reads text and knows no scopes. Comments and what stands in strings are left out, what is
/// interpolated into them is not. A member that is used names no type.
struct TypeNames {
  private(set) var declared: Set<String> = []
  private(set) var mentioned: Set<String> = []
  /// Whether the last word says that a type's name follows.
  private var isDeclaring = false

  private static let keywords: Set<String> = [
    "actor", "class", "enum", "macro", "protocol", "struct", "typealias",
  ]

  init(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
      var position = 0
      while position < bytes.count { readCode(bytes, &position) }
    }
  }

  /// To the end, or past the parenthesis that closes what is interpolated.
  private mutating func readCode(_ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int) {
    var depth = 0
    while position < bytes.count {
      let byte = bytes[position]
      if byte.isOfWord {
        readWord(bytes, &position)
        continue
      }
      if byte == .space {
        position += 1
        continue
      }
      isDeclaring = isDeclaring && byte == .backtick
      let next = position + 1 < bytes.count ? bytes[position + 1] : 0
      switch (byte, next) {
      case (.slash, .slash): position.skip(to: .newline, in: bytes)
      case (.slash, .star): skipComment(bytes, &position)
      case (.hash, .slash): skipRegex(bytes, &position)
      case (.hash, .hash), (.hash, .quote), (.quote, _): readString(bytes, &position)
      case (.opening, _):
        depth += 1
        position += 1
      case (.closing, _):
        depth -= 1
        position += 1
        if depth < 0 { return }
      default: position += 1
      }
    }
  }

  private mutating func readWord(_ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int) {
    let start = position
    while position < bytes.count, bytes[position].isOfWord { position += 1 }
    let (first, count) = (bytes[start], position - start)
    let mayDeclare = (4...9).contains(count)
    guard first.isCapital || mayDeclare else {
      isDeclaring = false
      return
    }
    let word = String(decoding: bytes[start..<position], as: UTF8.self)
    if first.isCapital {
      mentioned.insert(word)
      if isDeclaring { declared.insert(word) }
    }
    isDeclaring = mayDeclare && Self.keywords.contains(word)
  }

  private mutating func readString(_ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int) {
    let hashes = bytes.run(of: .hash, at: position)
    position += hashes
    let quotes = bytes.run(of: .quote, at: position)
    guard quotes > 0 else { return }
    // Two are a string without anything in it.
    let ofEnd = quotes >= 3 ? 3 : 1
    position += quotes == 2 ? 2 : ofEnd
    if quotes == 2 { return }
    while position < bytes.count {
      switch bytes[position] {
      case .newline where ofEnd == 1: return
      case .quote
      where bytes.run(of: .quote, at: position) >= ofEnd
        && bytes.run(of: .hash, at: position + ofEnd) >= hashes:
        position += ofEnd + hashes
        return
      case .backslash where bytes.run(of: .hash, at: position + 1) >= hashes:
        position += 1 + hashes
        let isInterpolated = position < bytes.count && bytes[position] == .opening
        position += 1
        if isInterpolated { readCode(bytes, &position) }
      default: position += 1
      }
    }
  }

  private func skipComment(_ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int) {
    position += 2
    while position + 1 < bytes.count, bytes[position] != .star || bytes[position + 1] != .slash {
      position += 1
    }
    position += 2
  }

  private func skipRegex(_ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int) {
    position += 2
    while position + 1 < bytes.count, bytes[position] != .slash || bytes[position + 1] != .hash,
      bytes[position] != .newline
    { position += 1 }
    position += 2
  }
}

extension Int {
  fileprivate mutating func skip(to byte: UInt8, in bytes: UnsafeBufferPointer<UInt8>) {
    while self < bytes.count, bytes[self] != byte { self += 1 }
  }
}

extension UnsafeBufferPointer<UInt8> {
  fileprivate func run(of byte: UInt8, at start: Int) -> Int {
    var end = start
    while end < count, self[end] == byte { end += 1 }
    return end - start
  }
}

extension UInt8 {
  fileprivate static let newline: UInt8 = 10
  fileprivate static let space: UInt8 = 32
  fileprivate static let quote: UInt8 = 34
  fileprivate static let hash: UInt8 = 35
  fileprivate static let opening: UInt8 = 40
  fileprivate static let closing: UInt8 = 41
  fileprivate static let star: UInt8 = 42
  fileprivate static let slash: UInt8 = 47
  fileprivate static let backslash: UInt8 = 92
  fileprivate static let backtick: UInt8 = 96

  fileprivate var isCapital: Bool { self >= 65 && self <= 90 }

  fileprivate var isOfWord: Bool {
    self >= 97 && self <= 122 || isCapital || self >= 48 && self <= 57 || self == 95 || self >= 128
  }
}
