#if Server
import Foundation
import TernCore

@testable import TernServer

/// Makes up requests: one that a route takes, changed in a few places.
///
/// The same seed makes the same bytes, as long as what it is given is the same.
struct RequestFuzzer {
  /// A request of the OpenAPI document.
  struct Template {
    var method: String
    var path: String
    var body: (type: String, bytes: [UInt8])?
  }

  struct Made {
    var bytes: [UInt8]
    /// Whether the head has one method and path that the server reads as we do.
    var route: (method: String, path: String)?
  }

  let token: String
  let templates: [Template]
  private var generator: SeededGenerator

  init(seed: UInt64, token: String, templates: [Template]) {
    (self.token, self.templates) = (token, templates)
    generator = SeededGenerator(state: seed)
  }

  mutating func next() -> Made {
    let template = pick(templates)
    var request = Parts(template, token)
    let changes = Int.random(in: 0...3, using: &generator)
    for _ in 0..<changes { change(&request) }
    var bytes = request.bytes
    var isReadable = true
    if Int.random(in: 0..<6, using: &generator) == 0 {
      isReadable = false
      damage(&bytes)
    }
    return Made(bytes: bytes, route: isReadable ? (request.method, request.path) : nil)
  }

  // MARK: - Changes

  private static let methods = [
    "GET", "PUT", "POST", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "G",
  ]
  private static let words = [
    "", ".", "..", "%2e%2e", "%", "%0", "%00", "%2f", "%zz", "a b", "ü", "\u{fffd}", "-1", "0",
    "9223372036854775808", "18446744073709551616", "1e9", "0x10", "NaN", "null", "true", "'", "\"",
    "';--", "{}", "[]", "*", "events", "operations", "snapshots", "parts", "home", "work",
    String(repeating: "a", count: 65), String(repeating: "9", count: 400),
    String(repeating: "%41", count: 300), "1.00000000000000000000000000000000.5",
  ]
  private static let fields = [
    "Content-Type", "Content-Length", "Transfer-Encoding", "Authorization", "Host", "Expect",
    "Connection", "X-Request-Id", "Range", "Accept-Encoding", "Content-Encoding", "Upgrade",
    "traceparent", "Last-Event-ID", "Cookie", "If-None-Match", "",
  ]
  private static let values = [
    "", "chunked", "gzip", "identity", "close", "keep-alive", "100-continue", "Bearer",
    "Basic YQ==",
    "application/json", "text/plain", "0", "1", "bytes=0-1", "h2c", "\u{1}", "\t", "a\u{0}b", "ü",
    String(repeating: "x", count: 9_000), "Bearer tern_00", "Bearer a b c",
  ]

  private mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[Int.random(in: elements.indices, using: &generator)]
  }

  private mutating func change(_ request: inout Parts) {
    switch Int.random(in: 0..<9, using: &generator) {
    case 0: request.method = pick(Self.methods)
    case 1: changePath(&request.path)
    case 2: addQuery(&request)
    case 3: request.fields.append((pick(Self.fields), pick(Self.values)))
    case 4:
      guard !request.fields.isEmpty else { return }
      request.fields.remove(at: Int.random(in: request.fields.indices, using: &generator))
    case 5:
      guard !request.fields.isEmpty else { return }
      request.fields[Int.random(in: request.fields.indices, using: &generator)].1 = pick(
        Self.values)
    case 6: request.isChunked = true
    case 7: request.lengthError = Int.random(in: -3...3, using: &generator)
    default: damage(&request.body)
    }
  }

  private mutating func changePath(_ path: inout String) {
    var parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    let index = Int.random(in: parts.indices, using: &generator)
    switch Int.random(in: 0..<3, using: &generator) {
    case 0: parts[index] = pick(Self.words)
    case 1: parts.insert(pick(Self.words), at: index)
    default: parts.remove(at: index)
    }
    path = parts.joined(separator: "/")
  }

  private mutating func addQuery(_ request: inout Parts) {
    let names = ["after", "excluding", "replica", "x", ""]
    for _ in 0...Int.random(in: 0...2, using: &generator) {
      request.query.append((pick(names), pick(Self.words)))
    }
  }

  private mutating func damage(_ bytes: inout [UInt8]) {
    for _ in 0...Int.random(in: 0...3, using: &generator) {
      guard !bytes.isEmpty else {
        bytes = [UInt8.random(in: 0...255, using: &generator)]
        continue
      }
      let index = Int.random(in: bytes.indices, using: &generator)
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
      case 1: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: index)
      case 2: bytes.removeSubrange(index..<min(bytes.count, index + 5))
      default: bytes.replaceSubrange(index..<index, with: bytes.prefix(64))
      }
    }
  }

  // MARK: - Bytes

  private struct Parts {
    var method: String
    var path: String
    var query: [(String, String)] = []
    var fields: [(String, String)]
    var body: [UInt8]
    var isChunked = false
    /// By how much the head's length is wrong.
    var lengthError = 0
    private let hasBody: Bool

    init(_ template: Template, _ token: String) {
      (method, path) = (template.method, template.path)
      body = template.body?.bytes ?? []
      hasBody = template.body != nil
      fields = [("Host", "localhost"), ("Authorization", "Bearer \(token)")]
      if let type = template.body?.type { fields.append(("Content-Type", type)) }
    }

    var bytes: [UInt8] {
      let items = query.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
      var head = "\(method) \(path)\(query.isEmpty ? "" : "?" + items) HTTP/1.1\r\n"
      for (name, value) in fields { head += "\(name): \(value)\r\n" }
      guard hasBody || !body.isEmpty else { return Array((head + "\r\n").utf8) }
      if isChunked {
        head += "Transfer-Encoding: chunked\r\n\r\n"
        let size = String(max(0, body.count + lengthError), radix: 16)
        return Array((head + size + "\r\n").utf8) + body + Array("\r\n0\r\n\r\n".utf8)
      }
      head += "Content-Length: \(max(0, body.count + lengthError))\r\n\r\n"
      return Array(head.utf8) + body
    }
  }
}
#endif
