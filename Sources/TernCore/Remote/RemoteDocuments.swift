import struct Foundation.Date

// The JSON of the sync protocol, one declaration for both its sides; `Docs/Server.md` describes it.

/// A greeting as it travels.
package struct GreetingDocument: Codable {
  package var epoch: String
  /// Always there, though ``RemoteGreeting`` is without it of a folder.
  package var now: Int64?
  /// Absent from a server whose clock was never ahead, or that is older than this member.
  package var newest: Int64?
  package var position: UInt64
  /// Sequence numbers by replica in hexadecimal.
  package var heads: [String: UInt64]
  /// Absent where there is none, and, as the next two, from a server that keeps no snapshots.
  package var snapshot: SnapshotDocument?
  package var trimmed: UInt64?
  package var wantsSnapshot: Bool?
  /// Absent from a server that is older than state reports, and while there is none.
  package var state: StateReport?
  package var wantsState: Bool?
  /// By replica in hexadecimal; absent where nothing is known of anybody.
  package var authors: [String: RemoteAuthor]?
  /// Absent where the replica's id is its own.
  package var claimed: Bool?

  package init(_ greeting: RemoteGreeting) {
    epoch = greeting.epoch
    now = greeting.now?.milliseconds
    newest = greeting.newest?.milliseconds
    position = greeting.position
    heads = greeting.heads.document
    snapshot = greeting.snapshot.map { SnapshotDocument($0) }
    trimmed = greeting.trimmed
    wantsSnapshot = greeting.wantsSnapshot
    state = greeting.state
    wantsState = greeting.wantsState
    if !greeting.authors.isEmpty {
      authors = Dictionary(
        uniqueKeysWithValues: greeting.authors.map { ($0.key.description, $0.value) })
    }
    if greeting.isClaimed { claimed = true }
  }

  package func greeting() throws(RemoteError) -> RemoteGreeting {
    guard let now else { throw .withoutTime }
    var greeting = RemoteGreeting(
      epoch: epoch, now: Date(milliseconds: now), position: position,
      heads: try VersionVector(heads))
    greeting.newest = newest.map { Date(milliseconds: $0) }
    greeting.snapshot = try snapshot?.snapshot()
    greeting.trimmed = trimmed ?? 0
    greeting.wantsSnapshot = wantsSnapshot ?? false
    greeting.state = state
    greeting.wantsState = wantsState ?? false
    for (text, author) in authors ?? [:] {
      guard let replica = ReplicaID(text) else { throw .noReplica }
      greeting.authors[replica] = author
    }
    greeting.isClaimed = claimed ?? false
    return greeting
  }
}

/// The newest snapshot in a greeting.
package struct SnapshotDocument: Codable {
  package var id: String
  package var position: UInt64
  package var cursor: String
  package var parts: Int
  package var heads: [String: UInt64]

  package init(_ snapshot: RemoteSnapshot) {
    id = snapshot.id
    position = snapshot.position
    cursor = snapshot.cursor.rawValue
    parts = snapshot.parts
    heads = snapshot.heads.document
  }

  package func snapshot() throws(RemoteError) -> RemoteSnapshot {
    guard parts > 0 else {
      throw RemoteError(.unexpectedAnswer, "the greeting names a snapshot without parts")
    }
    return RemoteSnapshot(
      id: id, position: position, cursor: RemoteCursor(rawValue: cursor), parts: parts,
      heads: try VersionVector(heads))
  }
}

/// What is to be uploaded, as it travels.
package struct OfferDocument: Codable {
  package var key: String
  package var parts: Int
  package var cursor: String?
  /// Absent from a client that is older than bases.
  package var base: Bool?
  /// Sequence, milliseconds and counter by replica in hexadecimal, so that no number is over 2⁵³.
  package var heads: [String: [Int64]]
  package var schema: SnapshotSchema?

  package init(_ offer: SnapshotOffer) {
    key = offer.key
    parts = offer.parts
    cursor = offer.cursor?.rawValue
    base = offer.isBase
    let entries = offer.heads.map { replica, head in
      let sequence = Int64(clamping: head.sequence)
      return (replica.description, [sequence, head.time.milliseconds, Int64(head.time.counter)])
    }
    heads = Dictionary(uniqueKeysWithValues: entries)
    schema = offer.schema
  }

  /// `nil` where a head is none.
  package var offer: SnapshotOffer? {
    var read: [ReplicaID: SnapshotHead] = [:]
    for (text, numbers) in heads {
      guard let replica = ReplicaID(text), numbers.count == 3,
        let sequence = UInt64(exactly: numbers[0]), let counter = UInt16(exactly: numbers[2]),
        (0...HybridTime.maximumMilliseconds).contains(numbers[1])
      else { return nil }
      let time = HybridTime(milliseconds: numbers[1]).rawValue | UInt64(counter)
      read[replica] = SnapshotHead(sequence: sequence, time: HybridTime(rawValue: time))
    }
    return SnapshotOffer(
      key: key, parts: parts, cursor: cursor.map { RemoteCursor(rawValue: $0) }, heads: read,
      isBase: base ?? false, schema: schema)
  }
}

/// What answers an offer.
package struct UploadDocument: Codable {
  package var id: String
  package var missing: [Int]

  package init(_ upload: SnapshotUpload) {
    id = upload.id
    missing = upload.missing
  }

  package var upload: SnapshotUpload { SnapshotUpload(id: id, missing: missing) }
}

/// What acknowledges a part, that a snapshot is whole, or a report.
package struct DoneDocument: Codable {
  package var now: Int64

  package init(now: Int64) {
    self.now = now
  }
}

/// What acknowledges a push.
package struct ReceiptDocument: Codable {
  /// Always there, though ``PushReceipt`` is without it of a folder.
  package var now: Int64?
  package var position: UInt64
  package var accepted: Int

  package init(_ receipt: PushReceipt) {
    now = receipt.now?.milliseconds
    position = receipt.position
    accepted = receipt.accepted
  }

  package func receipt() throws(RemoteError) -> PushReceipt {
    guard let now else { throw .withoutTime }
    return PushReceipt(now: Date(milliseconds: now), position: position, accepted: accepted)
  }
}

/// The data of a `position` event.
package struct PositionDocument: Hashable, Codable {
  package var position: UInt64
  /// Of the history up to there, as cursors carry it; `nil` at 0, and from older servers.
  package var check: String?

  package init(position: UInt64, check: String? = nil) {
    (self.position, self.check) = (position, check)
  }

  /// Whether a space that was at `other` can be here now, without having lost anything.
  package func canFollow(_ other: PositionDocument) -> Bool {
    guard position == other.position, let check, let known = other.check else {
      return position >= other.position
    }
    return check == known
  }
}

extension RemoteError {
  fileprivate static var withoutTime: RemoteError {
    RemoteError(.unexpectedAnswer, "the server's answer is without its time")
  }

  fileprivate static var noReplica: RemoteError {
    RemoteError(.unexpectedAnswer, "the greeting names a replica by what is no id")
  }
}

extension VersionVector {
  /// Sequence numbers by replica in hexadecimal.
  fileprivate var document: [String: UInt64] {
    Dictionary(uniqueKeysWithValues: sorted.map { ($0.replica.description, $0.sequence) })
  }

  fileprivate init(_ document: [String: UInt64]) throws(RemoteError) {
    self.init()
    for (text, sequence) in document {
      guard let replica = ReplicaID(text) else { throw .noReplica }
      self[replica] = sequence
    }
  }
}
