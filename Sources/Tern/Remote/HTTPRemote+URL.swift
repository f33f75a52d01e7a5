import Foundation

extension HTTPRemote {
  /// The URL without what could be a secret, and without a slash at its end.
  static func base(of url: URL) -> String {
    guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return "" }
    parts.user = nil
    parts.password = nil
    parts.query = nil
    parts.fragment = nil
    var text = parts.string ?? ""
    while text.hasSuffix("/") { text.removeLast() }
    return text
  }

  /// One segment of a path, or one value in a query, whatever it holds.
  ///
  /// A full stop is kept only beside other characters, since `.` and `..` are not names in a path.
  ///
  /// - Source: RFC 3986, sections 2.3 and 3.3.
  static func escaped(_ text: String) -> String {
    let isDots = text.utf8.allSatisfy { $0 == UInt8(ascii: ".") }
    return text.utf8.reduce(into: "") { escaped, byte in
      switch byte {
      case UInt8(ascii: "."):
        escaped += isDots ? "%2E" : "."
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        escaped.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        escaped += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
      }
    }
  }
}
