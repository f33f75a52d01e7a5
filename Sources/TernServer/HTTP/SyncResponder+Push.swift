#if Server
import HTTPTypes
import Hummingbird
import NIOCore
import TernCore

extension SyncResponder {
  /// Answers after the commit.
  func push(_ request: Request, by grant: Grant) async throws -> Response {
    let (space, member) = (grant.space, grant.member)
    if let type = request.headers[.contentType], type.lowercased() != batchType {
      throw RemoteError(.unsupportedMediaType, "a push has the content type \(batchType)")
    }
    let limit = service.limits.bodyBytes
    let what = "bodyBytes: a push"
    let receipt = try await receiving(request, of: space, atMost: limit, what) { body in
      try await queue.write(to: space) {
        try NewOperation.all(of: decode(body), service.limits)
      } _: { pushed in
        try service.push(pushed, to: space, by: member)
      }
    }
    metrics.pushed(receipt.accepted)
    return Response(json: ReceiptDocument(receipt))
  }

  /// Reads a body under its own limit and under that of all bodies, for which it counts as far as
  /// it has arrived, until `use` is done with it.
  ///
  /// - Parameter what: the limit's name, and what it limits.
  func receiving<Value: Sendable>(
    _ request: Request, of space: SpaceName, atMost limit: Int, _ what: String,
    _ use: (ByteBuffer) async throws -> Value
  ) async throws -> Value {
    // What it says would be read as if it were not packed, or be stored so.
    if let coding = request.headers[.contentEncoding], coding.lowercased() != "identity" {
      throw RemoteError(
        .unsupportedMediaType,
        "a body comes as it is, without a Content-Encoding; batches and parts are packed already")
    }
    let tooLarge = RemoteError(
      .tooLarge, "\(what) has at most \(limit) bytes; send less at a time")
    let declared = request.headers[.contentLength].flatMap { Int($0) }
    guard declared ?? 0 <= limit else { throw tooLarge }
    let share = received.share(
      of: space, ofAtMost: service.limits.bodyBytesInFlight, longest: limit)
    defer { share.release() }
    let time = service.limits.bodyTime
    let end = service.clock.nowMilliseconds + time.milliseconds
    var body = ByteBuffer()
    for try await part in request.body {
      guard part.readableBytes <= limit - body.readableBytes else { throw tooLarge }
      // A connection without a sign of life is closed; this is for one that sends ever so little.
      guard service.clock.nowMilliseconds <= end else {
        throw RemoteError(
          .unavailable,
          "bodyTime: a body has \(time.components.seconds) s to arrive; send less at a time")
      }
      try share.grow(by: part.readableBytes)
      body.writeImmutableBuffer(part)
    }
    return try await use(body)
  }

  private func decode(_ body: ByteBuffer) throws(RemoteError) -> [SyncOperation] {
    do {
      return try OperationBatch(encoded: Array(body.readableBytesView)).operations
    } catch {
      let code: RemoteError.Code =
        switch error.code {
        case .unsupportedVersion: .unsupportedVersion
        case .tooLarge: .tooLarge
        default: .malformed
        }
      throw RemoteError(code, "the batch was refused: \(error)")
    }
  }
}
#endif
