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
  /// Anywhere else a line that looks like a status is a field, whatever its name.
  private var isStatusNext = true

  /// The longest head, in bytes, with all its informational answers.
  package static let limitBytes = 256 << 10

  package init() {}

  /// A head that somebody else has read.
  package init(status: Int, headers: HTTPHeaders) {
    self.status = status
    self.headers = headers
    isComplete = true
  }

  /// The transport takes codings off the body: neither the coding nor the length on the wire is the
  /// body's. A server may use another one than it was asked for, and transports take off all
  /// that they know.
  package mutating func forgetCoding() {
    guard let coding = headers["Content-Encoding"]?.lowercased(), coding != "identity" else {
      return
    }
    headers["Content-Encoding"] = nil
    headers["Content-Length"] = nil
  }

  /// Whether its body has no codings but one that the transport takes off: chunks, and within them
  /// gzip where it `decodes`. An answer without a body can name any.
  package func isReadable(decodes: Bool) -> Bool {
    guard status != 204, status != 304 else { return true }
    let framing = codings("Transfer-Encoding")
    let packing = decodes ? codings("Content-Encoding") : []
    return framing.count <= 1 && framing.allSatisfy { ["chunked", "identity"].contains($0) }
      && packing.count <= 1
      && packing.allSatisfy { ["gzip", "x-gzip", "identity"].contains($0) }
  }

  /// What all fields of that name list together, in lower case.
  private func codings(_ name: String) -> [String] {
    headers.values(name).flatMap { $0.split(separator: ",") }
      .map { String(decoding: Self.trimmed($0.utf8), as: UTF8.self).lowercased() }
      .filter { !$0.isEmpty }
  }

  /// Takes one line, with or without its line break; `false` when it can't be part of an answer.
  ///
  /// Which line is a status and which one the end is decided as libcurl does: what it reads after
  /// that is the body, and decoded as the head before it says.
  package mutating func consume(_ bytes: some BidirectionalCollection<UInt8>) -> Bool {
    guard !isComplete else { return true }
    byteCount += bytes.count
    guard byteCount <= Self.limitBytes else { return false }
    if bytes.first.map({ $0 == 0x0D || $0 == 0x0A }) ?? true { return endHead() }
    let line = Self.trimmed(bytes)
    if isStatusNext, line.starts(with: "HTTP/".utf8) { return consumeStatusLine(line) }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return true }
    headers.add(
      String(decoding: line[..<colon], as: UTF8.self),
      String(decoding: Self.trimmed(line[line.index(after: colon)...]), as: UTF8.self))
    return true
  }

  private mutating func endHead() -> Bool {
    isComplete = status >= 200
    isStatusNext = true
    return status >= 100
  }

  private mutating func consumeStatusLine(_ line: some Collection<UInt8>) -> Bool {
    let words = line.split(separator: UInt8(ascii: " "))
    guard words.count >= 2, words[1].count == 3,
      let status = Int(String(decoding: words[1], as: UTF8.self)), (100...999).contains(status)
    else { return false }
    self.status = status
    headers = HTTPHeaders()
    isStatusNext = false
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
