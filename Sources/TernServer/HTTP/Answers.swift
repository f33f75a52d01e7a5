#if Server
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import TernCore

/// The greeting as it travels.
struct GreetingDocument: Codable {
  var epoch: String
  var now: Int64?
  var newest: Int64?
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
    newest = greeting.newestMilliseconds
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
      key: key, parts: parts, cursor: cursor.map { RemoteCursor(rawValue: $0) }, heads: read,
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
    self.init(
      status: status, headers: [.contentType: type ?? "application/json"],
      body: .init(byteBuffer: .init(json: document)))
  }

  init(_ page: PulledPage, counting share: AnswerShare?, to channel: any Channel) {
    self.init(
      status: .ok,
      headers: [
        .contentType: batchType,
        .ternCursor: page.cursor.rawValue,
        .ternMore: page.hasMore ? "1" : "0",
      ],
      body: ResponseBody(
        ByteBuffer(bytes: Batch(page.operations).encoded()), counting: share, to: channel))
    headers[.ternNow] = page.nowMilliseconds.map { String($0) }
  }
}

extension ByteBuffer {
  init(json document: some Encodable) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(document) else {
      fatalError("a document of numbers and strings has a JSON form")
    }
    self.init(bytes: data)
  }
}

/// What is written at once. What is longer is written piece by piece, each when the one before has
/// left: with its end an answer counts as given, and a connection on which nothing more is asked for
/// a while is closed as idle, whatever of the answer still waits.
private let pieceBytes = 64 << 10

extension ResponseBody {
  /// - Parameter share: released when the last piece is written.
  init(_ bytes: ByteBuffer, counting share: AnswerShare?, to channel: any Channel) {
    guard bytes.readableBytes > pieceBytes else {
      self.init(byteBuffer: bytes)
      return
    }
    self.init(contentLength: bytes.readableBytes) { writer in
      defer { share?.bytes.release() }
      let end = share.map { NIODeadline.now() + $0.time } ?? .distantFuture
      var rest = bytes
      while rest.readableBytes > 0,
        let piece = rest.readSlice(length: min(pieceBytes, rest.readableBytes))
      {
        // Which closes the connection: the answer has begun.
        guard NIODeadline.now() <= end else { throw ChannelError.ioOnClosedChannel }
        try await writer.write(piece)
        try await ConnectionWatch.drain(channel)
      }
      try await writer.finish(nil)
    }
  }
}

/// What one long answer is allowed.
struct AnswerShare {
  let bytes: BodyShare
  /// In which it has to be taken.
  let time: TimeAmount
}

extension SyncResponder {
  /// What an answer counts for; `nil` where it is written at once, which the limit of connections
  /// limits.
  ///
  /// - Throws: ``RemoteError`` with `unavailable` when the server sends much already.
  func share(of count: Int, _ space: SpaceName) throws(RemoteError) -> AnswerShare? {
    guard count > pieceBytes else { return nil }
    let share = sent.share(
      of: space, ofAtMost: service.limits.answerBytesInFlight,
      longest: max(service.limits.bodyBytes, service.limits.snapshotPartBytes))
    try share.grow(by: count)
    return AnswerShare(bytes: share, time: TimeAmount(service.limits.answerTime))
  }
}
#endif
