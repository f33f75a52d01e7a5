#if Server
import HTTPTypes
import Hummingbird
import NIOCore
import TernCore

/// An event's data: where one of several spaces is.
private struct SpacePositionDocument: Encodable {
  let space: String
  let position: UInt64
  let check: String?
}

/// An event's data: a space that the credential opens no more.
private struct GoneDocument: Encodable {
  let space: String
}

extension SyncResponder {
  /// The newest positions of all spaces that the credential opens, as one stream of server-sent
  /// events. Spaces come and go with what it opens.
  func spaceEvents(_ request: Request, _ context: Context) async throws -> Response {
    let grants = try await grants(of: request.bearerToken)
    connections.authorized(context.channel)
    return try await requests.counting(grants[0].account) {
      try checkHasNoBody(request)
      let (listener, wakes) = try await queue.read {
        try service.board.listen(by: grants, limits: service.limits) {
          try service.store.heads(of: $0)
        }
      }
      let stream = EventStream(
        finish: { [weak listener] in listener?.finish() },
        returnDelay: { listener.returnDelay })
      return respond(with: stream, context) { writer in
        try await Self.write(listener, wakes, to: &writer)
      }
    }
  }

  /// At least one.
  private func grants(of credential: String?) async throws -> [Grant] {
    let grants = try await authorizer.grants(of: credential)
    guard !grants.isEmpty else {
      throw RemoteError(.forbidden, "the credential opens no space; get one that does")
    }
    let lasting = grants.filter { grant in
      grant.expires.map { !service.clock.hasPassed($0) } ?? true
    }
    guard !lasting.isEmpty else {
      throw RemoteError(
        .unauthorized, "the credential has expired; ask for a new one where it came from")
    }
    let limit = service.limits.spacesPerStream
    guard lasting.count <= limit else {
      throw RemoteError(
        .tooLarge,
        "spacesPerStream: the credential opens \(lasting.count) spaces, and a stream tells of "
          + "\(limit); listen to each at its own path")
    }
    return lasting
  }

  /// A wake that brings no news is written as a comment. News is written at once, and what follows
  /// at intervals, whatever the space.
  private static func write(
    _ listener: SpacesListener, _ wakes: AsyncStream<Void>, to writer: inout any ResponseBodyWriter
  ) async throws {
    for await _ in wakes {
      let news = listener.take()
      guard !news.isEmpty else {
        try await writer.write(ByteBuffer(string: ":\n\n"))
        continue
      }
      var events = ByteBuffer()
      for (space, news) in news {
        let (name, data) =
          switch news {
          case .head(let head):
            (
              "position",
              ByteBuffer(
                json: SpacePositionDocument(
                  space: space.text, position: head.position, check: head.chain?.check))
            )
          case .gone: ("gone", ByteBuffer(json: GoneDocument(space: space.text)))
          }
        events.writeString("event: \(name)\ndata: ")
        events.writeImmutableBuffer(data)
        events.writeString("\n\n")
      }
      try await writer.write(events)
      try await pauseBetweenWakes()
    }
  }
}
#endif
