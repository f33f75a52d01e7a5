#if Server
import HTTPTypes
import Hummingbird
import NIOCore
import TernCore

extension SyncResponder {
  /// Answers after the commit.
  func push(_ request: Request, to space: SpaceName) async throws -> Response {
    if let type = request.headers[.contentType], type.lowercased() != batchType {
      throw RemoteError(.unsupportedMediaType, "a push has the content type \(batchType)")
    }
    let limit = service.limits.bodyBytes
    let declared = request.headers[.contentLength].flatMap { Int($0) }
    guard declared ?? 0 <= limit else { throw bodyTooLarge(limit) }
    return try await budget.reserving(declared ?? limit) {
      let body: ByteBuffer
      do {
        body = try await request.body.collect(upTo: limit)
      } catch is NIOTooManyBytesError {
        throw bodyTooLarge(limit)
      }
      let receipt = try await queue.write {
        try service.push(decode(body), to: space)
      }
      return Response(json: ReceiptDocument(receipt))
    }
  }

  private func decode(_ body: ByteBuffer) throws(RemoteError) -> [Operation] {
    do {
      return try Batch(encoded: Array(body.readableBytesView)).operations
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

  private func bodyTooLarge(_ limit: Int) -> RemoteError {
    RemoteError(
      .tooLarge, "bodyBytes: a body has at most \(limit) bytes; push fewer operations at a time")
  }
}
#endif
