/// The status and header fields of an answer, put together from lines as they arrive.
///
/// Informational answers (1xx) are passed over. What follows the head, such as trailers, is left
/// out.
package struct ResponseHead: Hashable, Sendable {
  /// 0 until a status line has come.
  package private(set) var status = 0
  package private(set) var headers = HTTPHeaders()
  /// Whether the empty line after a final status has come.
  package private(set) var isComplete = false
  private var byteCount = 0

  /// The longest head, in bytes, with all its informational answers.
  package static let limitBytes = 256 << 10

  package init() {}

  /// A head that somebody else has read.
  package init(status: Int, headers: HTTPHeaders) {
    self.status = status
    self.headers = headers
    isComplete = true
  }

  /// The transport takes codings off the body: neither the coding nor the length on the wire is the body's.
  /// A server may use another one than it was asked for, and transports take off all that they know.
  package mutating func forgetCoding() {
    guard let coding = headers["Content-Encoding"]?.lowercased(), coding != "identity" else {
      return
    }
    headers["Content-Encoding"] = nil
    headers["Content-Length"] = nil
  }

  /// Takes one line, with or without its line break; `false` when it can't be part of an answer.
  package mutating func consume(_ bytes: some BidirectionalCollection<UInt8>) -> Bool {
    guard !isComplete else { return true }
    byteCount += bytes.count
    guard byteCount <= Self.limitBytes else { return false }
    let line = Self.trimmed(bytes)
    if line.isEmpty { return endHead() }
    if line.starts(with: "HTTP/".utf8) { return consumeStatusLine(line) }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return true }
    headers.add(
      String(decoding: line[..<colon], as: UTF8.self),
      String(decoding: Self.trimmed(line[line.index(after: colon)...]), as: UTF8.self))
    return true
  }

  private mutating func endHead() -> Bool {
    isComplete = status >= 200
    return status >= 100
  }

  private mutating func consumeStatusLine(_ line: some Collection<UInt8>) -> Bool {
    let words = line.split(separator: UInt8(ascii: " "))
    guard words.count >= 2, words[1].count == 3,
      let status = Int(String(decoding: words[1], as: UTF8.self)), (100...999).contains(status)
    else { return false }
    self.status = status
    headers = HTTPHeaders()
    return true
  }

  private static func trimmed<Bytes: BidirectionalCollection<UInt8>>(
    _ bytes: Bytes
  ) -> Bytes.SubSequence {
    let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D || $0 == 0x0A }
    guard let first = bytes.firstIndex(where: { !isBlank($0) }),
      let last = bytes.lastIndex(where: { !isBlank($0) })
    else { return bytes[bytes.endIndex...] }
    return bytes[first...last]
  }
}
