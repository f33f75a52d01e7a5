#if Server
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import TernCore

extension SyncResponder {
  /// The space's newest position as server-sent events, until either side ends it, or the token
  /// opens the space no more.
  ///
  /// - Source: WHATWG HTML, section 9.2, "Server-sent events".
  func events(
    _ request: Request, of space: SpaceName, logger: Logger
  ) async throws -> Response {
    // Nobody would read it, and what waits to be read outlives the stream.
    guard Int(request.headers[.contentLength] ?? "0") == 0,
      request.headers[.transferEncoding] == nil
    else {
      throw RemoteError(.malformed, "a request for events has no body; send it without one")
    }
    let token = Self.bearerToken(request.headers[.authorization])
    let (listener, positions) = try await queue.read { try service.listen(to: space) }
    let body = ResponseBody { writer in
      try await request.body.consumeWithInboundCloseHandler { _ in
        try await withGracefulShutdownHandler {
          try await write(positions, to: &writer) {
            await beat(listener, space, token, logger)
          }
        } onGracefulShutdown: {
          listener.finish()
        }
      } onInboundClosed: {
        listener.finish()
      }
      if let delay = listener.returnDelay {
        try await writer.write(ByteBuffer(string: "retry: \(delay.milliseconds)\n\n"))
      }
      try await writer.finish(nil)
    }
    return Response(
      status: .ok,
      headers: [.contentType: "text/event-stream", .cacheControl: "no-store"], body: body)
  }

  /// Every wake that brings no news is written as a comment, which keeps the connection open.
  private func write(
    _ positions: AsyncStream<UInt64>, to writer: inout any ResponseBodyWriter,
    beside beat: @escaping @Sendable () async -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await beat() }
      var written: UInt64?
      for await position in positions {
        guard position != written else {
          try await writer.write(ByteBuffer(string: ":\n\n"))
          continue
        }
        written = position
        let data = String(buffer: ByteBuffer(json: PositionDocument(position: position)))
        try await writer.write(
          ByteBuffer(string: "event: position\nid: \(position)\ndata: \(data)\n\n"))
      }
      group.cancelAll()
    }
  }

  /// Reads the position too, and so finds what another process has done to the store.
  ///
  /// A store that can't be read is no reason to end a stream, and with it all others at one moment:
  /// such a beat brings no news.
  private func beat(
    _ listener: PositionListener, _ space: SpaceName, _ token: String?, _ logger: Logger
  ) async {
    var hasFailed = false
    while true {
      do {
        // An injected default: signs of life belong to the connection, below which a simulation is.
        try await Task.sleep(for: heartbeat)
      } catch {
        return
      }
      do {
        let told = listener.position
        let position = try await queue.read {
          try service.authorize(token, for: space)
          return try service.store.position(of: space)
        }
        // The store lost what was told, as after a failover: the device asks anew where it is.
        if position < told { return listener.finish() }
        listener.offer(position)
        hasFailed = false
      } catch is RemoteError {
        return listener.finish()
      } catch {
        if !hasFailed { logger.failure("a position could not be read", error) }
        hasFailed = true
        listener.remind()
      }
    }
  }
}
#endif
