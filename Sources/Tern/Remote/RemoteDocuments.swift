/// The JSON of a greeting, as the server writes it.
struct GreetingDocument: Decodable {
  var epoch: String
  var now: Int64
  var position: UInt64
  /// Sequence numbers by replica id in hexadecimal.
  var heads: [String: UInt64]

  func greeting() throws -> RemoteGreeting {
    var vector = VersionVector()
    for (text, sequence) in heads {
      guard let replica = ReplicaID(text) else {
        throw RemoteError(.unexpectedAnswer, "the greeting names a replica by what is no id")
      }
      vector[replica] = sequence
    }
    return RemoteGreeting(
      epoch: epoch, nowMilliseconds: now, position: position, heads: vector)
  }
}

/// The JSON that acknowledges a push.
struct ReceiptDocument: Decodable {
  var now: Int64
  var position: UInt64
  var accepted: Int

  var receipt: PushReceipt {
    PushReceipt(nowMilliseconds: now, position: position, accepted: accepted)
  }
}

/// The data of a `position` event.
struct PositionDocument: Decodable {
  var position: UInt64
}

/// A problem document with Tern's own members.
///
/// - Source: RFC 9457.
struct ProblemDocument: Decodable {
  var type: String?
  var title: String?
  var detail: String?
  var replica: String?
  var sequence: UInt64?
  var now: Int64?

  static let prefix = "urn:tern:problem:"

  /// `nil` for a problem that is not Tern's, e.g. a proxy's.
  var code: RemoteError.Code? {
    guard let type, type.hasPrefix(Self.prefix), type.count > Self.prefix.count else { return nil }
    return RemoteError.Code(rawValue: String(type.dropFirst(Self.prefix.count)))
  }

  var message: String {
    let text = [title, detail].compactMap { $0 }.joined(separator: ": ")
    return text.isEmpty ? "the server gave no reason" : text
  }
}
