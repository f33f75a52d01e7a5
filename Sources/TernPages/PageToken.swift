#if Server
/// What whoever may use a page has: 32 random bytes.
package struct PageToken: Sendable {
  /// In the characters of a URL's fragment.
  package let text: String

  package init(using generator: inout some RandomNumberGenerator) {
    let digits = Array("0123456789abcdef")
    text = String((0..<64).map { _ in digits[Int.random(in: 0..<16, using: &generator)] })
  }

  /// One that was kept; `nil` for what can't be one.
  init?(text: String) {
    let digits = text.hasSuffix("\n") ? text.dropLast() : text[...]
    let isToken =
      digits.utf8.count == 64
      && digits.utf8.allSatisfy {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
          || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
      }
    guard isToken else { return nil }
    self.text = String(digits)
  }

  /// In a time that says nothing of where the first wrong character is.
  func matches(_ other: Substring) -> Bool {
    let (mine, theirs) = (Array(text.utf8), Array(other.utf8))
    guard mine.count == theirs.count else { return false }
    return zip(mine, theirs).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
#endif
