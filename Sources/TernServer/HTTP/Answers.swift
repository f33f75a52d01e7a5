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

  init(_ greeting: RemoteGreeting) {
    epoch = greeting.epoch
    now = greeting.nowMilliseconds
    position = greeting.position
    heads = Dictionary(
      uniqueKeysWithValues: greeting.heads.sorted.map { ($0.replica.description, $0.sequence) })
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
