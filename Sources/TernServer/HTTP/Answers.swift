#if Server
import Foundation
import HTTPTypes
import Hummingbird
import TernCore

/// The greeting as it travels.
struct GreetingDocument: Codable {
  var epoch: String
  var now: Int64?
  var position: UInt64
  var heads: [String: UInt64]
  var snapshot: SnapshotDocument?
  var trimmed: UInt64
  var wantsSnapshot: Bool
  var state: StateReport?
  var wantsState: Bool

  init(_ greeting: RemoteGreeting) {
    epoch = greeting.epoch
    now = greeting.nowMilliseconds
    position = greeting.position
    heads = greeting.heads.document
    snapshot = greeting.snapshot.map { SnapshotDocument($0) }
    trimmed = greeting.trimmed
    wantsSnapshot = greeting.wantsSnapshot
    state = greeting.state
    wantsState = greeting.wantsState
  }
}

extension VersionVector {
  /// Sequence numbers by replica in hexadecimal.
  fileprivate var document: [String: UInt64] {
    Dictionary(uniqueKeysWithValues: sorted.map { ($0.replica.description, $0.sequence) })
  }
}

/// The newest snapshot in a greeting.
struct SnapshotDocument: Codable {
  var id: String
  var position: UInt64
  var cursor: String
  var parts: Int
  var heads: [String: UInt64]

  init(_ snapshot: RemoteSnapshot) {
    id = snapshot.id
    position = snapshot.position
    cursor = snapshot.cursor.rawValue
    parts = snapshot.parts
    heads = snapshot.heads.document
  }
}

/// What is to be uploaded, as it travels.
struct OfferDocument: Codable {
  var key: String
  var parts: Int
  var cursor: String?
  var base: Bool?
  /// Sequence, milliseconds and counter by replica, so that no number is over 2⁵³.
  var heads: [String: [Int64]]

  /// `nil` where a head is none.
  var offer: SnapshotOffer? {
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
      key: key, parts: parts, cursor: cursor.map { Cursor(rawValue: $0) }, heads: read,
      isBase: base ?? false)
  }
}

/// An upload as it travels.
struct UploadDocument: Codable {
  var id: String
  var missing: [Int]

  init(_ upload: SnapshotUpload) {
    id = upload.id
    missing = upload.missing
  }
}

/// The receipt of a push as it travels.
struct ReceiptDocument: Codable {
  var now: Int64?
  var position: UInt64
  var accepted: Int

  init(_ receipt: PushReceipt) {
    now = receipt.nowMilliseconds
    position = receipt.position
    accepted = receipt.accepted
  }
}

extension HTTPField.Name {
  static let ternCursor = Self("Tern-Cursor")!
  static let ternMore = Self("Tern-More")!
  static let ternNow = Self("Tern-Now")!
}

/// The content type of ``Batch``.
let batchType = "application/vnd.tern.batch"
/// The content type of a snapshot's part, which is opaque here.
let partType = "application/octet-stream"

extension Response {
  init(json document: some Encodable, status: HTTPResponse.Status = .ok, type: String? = nil) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(document) else {
      fatalError("a document of numbers and strings has a JSON form")
    }
    self.init(
      status: status, headers: [.contentType: type ?? "application/json"],
      body: .init(byteBuffer: ByteBuffer(bytes: data)))
  }

  init(_ page: PulledPage) {
    self.init(
      status: .ok,
      headers: [
        .contentType: batchType,
        .ternCursor: page.cursor.rawValue,
        .ternMore: page.hasMore ? "1" : "0",
      ],
      body: .init(byteBuffer: ByteBuffer(bytes: Batch(page.operations).encoded())))
    headers[.ternNow] = page.nowMilliseconds.map { String($0) }
  }
}
#endif
