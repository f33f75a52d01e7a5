/// The JSON of a greeting, as the server writes it.
struct GreetingDocument: Decodable {
  var epoch: String
  var now: Int64
  /// Absent from a server whose clock was never ahead, or that is older than this member.
  var newest: Int64?
  var position: UInt64
  /// Sequence numbers by replica id in hexadecimal.
  var heads: [String: UInt64]
  /// Absent from a server that keeps no snapshots, as the next two.
  var snapshot: SnapshotDocument?
  var trimmed: UInt64?
  var wantsSnapshot: Bool?
  /// Absent from a server that is older than state reports, and while there is none.
  var state: StateReport?
  var wantsState: Bool?

  func greeting() throws -> RemoteGreeting {
    var greeting = RemoteGreeting(
      epoch: epoch, nowMilliseconds: now, position: position, heads: try Self.vector(heads),
      snapshot: try snapshot?.snapshot(), trimmed: trimmed ?? 0,
      wantsSnapshot: wantsSnapshot ?? false, state: state,
      wantsState: wantsState ?? false)
    greeting.newestMilliseconds = newest
    return greeting
  }

  static func vector(_ heads: [String: UInt64]) throws -> VersionVector {
    var vector = VersionVector()
    for (text, sequence) in heads {
      guard let replica = ReplicaID(text) else {
        throw RemoteError(.unexpectedAnswer, "the greeting names a replica by what is no id")
      }
      vector[replica] = sequence
    }
    return vector
  }
}

/// The newest snapshot in a greeting.
struct SnapshotDocument: Decodable {
  var id: String
  var position: UInt64
  var cursor: String
  var parts: Int
  var heads: [String: UInt64]

  func snapshot() throws -> RemoteSnapshot {
    guard parts > 0 else {
      throw RemoteError(.unexpectedAnswer, "the greeting names a snapshot without parts")
    }
    return RemoteSnapshot(
      id: id, position: position, cursor: RemoteCursor(rawValue: cursor), parts: parts,
      heads: try GreetingDocument.vector(heads))
  }
}

/// The JSON that offers a snapshot.
struct OfferDocument: Encodable {
  var key: String
  var parts: Int
  var cursor: String?
  var base: Bool
  /// Sequence, milliseconds and counter by replica id in hexadecimal.
  var heads: [String: [Int64]]

  init(_ offer: SnapshotOffer) {
    key = offer.key
    parts = offer.parts
    cursor = offer.cursor?.rawValue
    base = offer.isBase
    let entries = offer.heads.map { replica, head in
      let sequence = Int64(clamping: head.sequence)
      return (replica.description, [sequence, head.time.milliseconds, Int64(head.time.counter)])
    }
    heads = Dictionary(uniqueKeysWithValues: entries)
  }
}

/// The JSON that answers an offer.
struct UploadDocument: Decodable {
  var id: String
  var missing: [Int]
}

/// The JSON that acknowledges a part, or that a snapshot is whole.
struct DoneDocument: Decodable {
  var now: Int64
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
