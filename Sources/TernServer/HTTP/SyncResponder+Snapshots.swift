#if Server
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import TernCore

/// The longest offer: a head for each of 10,000 replicas is less than 1 MiB.
private let offerBytes = 4 << 20

extension SyncResponder {
  func beginSnapshot(_ request: Request, by grant: Grant) async throws -> Response {
    let (space, member) = (grant.space, grant.member)
    let upload = try await receiving(request, of: space, atMost: offerBytes, "an offer") { body in
      try await queue.write(to: space) {
        try decode(body)
      } _: { offer in
        try service.beginSnapshot(offer, in: space, by: member)
      }
    }
    // Another upload may have given way, and its bytes are to go.
    maintenance.ask(for: space)
    return Response(json: UploadDocument(upload))
  }

  private func decode(_ body: ByteBuffer) throws(RemoteError) -> SnapshotOffer {
    guard
      let document = try? JSONDecoder().decode(
        OfferDocument.self, from: Data(body.readableBytesView)),
      let offer = document.offer
    else {
      throw RemoteError(
        .malformed, "the offer of a snapshot is JSON with key, parts, cursor, base and heads")
    }
    return offer
  }

  func putSnapshotPart(_ request: Request, _ index: Int, of id: Substring, in space: SpaceName)
    async throws -> Response
  {
    if let type = request.headers[.contentType], type.lowercased() != partType {
      throw RemoteError(.unsupportedMediaType, "a part has the content type \(partType)")
    }
    let limit = service.limits.snapshotPartBytes
    try await receiving(request, of: space, atMost: limit, "snapshotPartBytes: a part") { body in
      try await queue.write(to: space) {
        let bytes = Array(body.readableBytesView)
        return (bytes, PartDigest(part: bytes))
      } _: { bytes, digest in
        try service.putSnapshotPart(bytes, digest, index: index, of: String(id), in: space)
      }
    }
    return now()
  }

  func completeSnapshot(_ id: Substring, by grant: Grant) async throws -> Response {
    let (space, member) = (grant.space, grant.member)
    let hasMore = try await queue.check(of: space) {
      try service.completeSnapshot(String(id), in: space, by: member)
    }
    if hasMore { maintenance.ask(for: space) }
    return now()
  }

  func snapshotPart(
    _ index: Int, of id: Substring, in space: SpaceName, to channel: any Channel
  ) async throws -> Response {
    let (bytes, share) = try await queue.page(of: space) {
      let bytes = try service.snapshotPart(index, of: String(id), in: space)
      return (bytes, try self.share(of: bytes.count, space))
    }
    return Response(
      status: .ok, headers: [.contentType: partType],
      body: ResponseBody(ByteBuffer(bytes: bytes), counting: share, to: channel))
  }

  func now() -> Response { Response(json: DoneDocument(now: service.clock.nowMilliseconds)) }
}
#endif
