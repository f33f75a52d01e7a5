import struct Foundation.Date

/// A refusal as it travels: a problem document with Tern's own members. One that is read may be a
/// proxy's, which need not have any of them.
///
/// - Source: RFC 9457, "Problem Details for HTTP APIs".
package struct ProblemDocument: Codable {
  package var type: String?
  package var title: String?
  package var status: Int?
  package var detail: String?
  package var replica: String?
  package var sequence: UInt64?
  /// The server's clock, milliseconds since 1970.
  package var now: Int64?
  /// The sequence number that the replica should have pushed.
  package var expected: UInt64?
  /// By which the server's log names the request.
  package var request: String?

  private static let prefix = "urn:tern:problem:"

  package init(_ error: RemoteError, title: String, status: Int, expected: UInt64?) {
    type = Self.prefix + error.code.rawValue
    self.title = title
    self.status = status
    detail = error.message
    replica = error.replica?.description
    sequence = error.sequence
    now = error.now?.milliseconds
    self.expected = expected
  }

  /// `nil` for a problem that is not Tern's, e.g. a proxy's.
  package var code: RemoteError.Code? {
    guard let type, type.hasPrefix(Self.prefix), type.count > Self.prefix.count else { return nil }
    return RemoteError.Code(rawValue: String(type.dropFirst(Self.prefix.count)))
  }

  package var message: String {
    let text = [title, detail].compactMap { $0 }.joined(separator: ": ")
    return text.isEmpty ? "the server gave no reason" : text
  }
}
