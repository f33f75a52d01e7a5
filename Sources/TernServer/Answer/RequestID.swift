#if Server
import HTTPTypes

extension HTTPField.Name {
  static let requestID = Self("X-Request-Id")!
}

/// By which one request is found in the logs of all who had it in hand: what a proxy sent, or
/// otherwise what is drawn here.
struct RequestID: Hashable {
  let text: String

  /// Longer ones, and what could be more than a word in a log, are nobody's.
  private static let longest = 128

  /// - Returns: `nil` for what is not well-formed: letters, digits, `-`, `_`, `.`, up to 128.
  init?(_ field: String?) {
    guard let field, (1...Self.longest).contains(field.utf8.count),
      field.utf8.allSatisfy({ byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
          UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"),
          UInt8(ascii: "."):
          true
        default: false
        }
      })
    else { return nil }
    text = field
  }

  /// One of 32 hexadecimal digits.
  init(using generator: inout some RandomNumberGenerator) {
    let bytes = (0..<2).flatMap { _ in
      withUnsafeBytes(of: generator.next().bigEndian) { Array($0) }
    }
    text = bytes.hexadecimal
  }
}
#endif
