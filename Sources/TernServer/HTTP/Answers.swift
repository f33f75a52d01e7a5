#if Server
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import TernCore

extension HTTPField.Name {
  static let accelBuffering = Self("X-Accel-Buffering")!
  static let host = Self("Host")!
  static let ternCursor = Self("Tern-Cursor")!
  static let ternMore = Self("Tern-More")!
  static let ternNow = Self("Tern-Now")!
}

/// The content type of ``OperationBatch``.
let batchType = "application/vnd.tern.batch"
/// The content type of a snapshot's part, which is opaque here.
let partType = "application/octet-stream"

extension Response {
  /// - Parameter body: the page's operations, packed.
  init(
    _ page: PulledPage, _ body: ByteBuffer, counting share: AnswerShare?, to channel: any Channel
  ) {
    self.init(
      status: .ok,
      headers: [
        .contentType: batchType,
        .ternCursor: page.cursor.rawValue,
        .ternMore: page.hasMore ? "1" : "0",
      ],
      body: ResponseBody(body, counting: share, to: channel))
    headers[.ternNow] = page.now.map { String($0.milliseconds) }
  }
}

/// What is written at once. What is longer is written piece by piece, each when the one before has
/// left: with its end an answer counts as given, and a connection on which nothing more is asked
/// for a while is closed as idle, whatever of the answer still waits.
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
