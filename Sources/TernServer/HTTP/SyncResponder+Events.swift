#if Server
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle
import TernCore

extension SyncResponder {
  /// The space's newest position as server-sent events, until either side ends it, or the grant
  /// holds no more.
  ///
  /// - Source: WHATWG HTML, section 9.2, "Server-sent events".
  func events(_ request: Request, by grant: Grant) async throws -> Response {
    // Nobody would read it, and what waits to be read outlives the stream.
    guard Int(request.headers[.contentLength] ?? "0") == 0,
      request.headers[.transferEncoding] == nil
    else {
      throw RemoteError(.malformed, "a request for events has no body; send it without one")
    }
    let (listener, heads) = try await queue.read {
      try service.listen(to: grant.space, by: grant)
    }
    let body = ResponseBody { writer in
      try await request.body.consumeWithInboundCloseHandler { _ in
        try await withGracefulShutdownHandler {
          try await write(heads, to: &writer) {
            await beat(listener)
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
      headers: [
        .contentType: "text/event-stream", .cacheControl: "no-store",
        // Has nginx, and proxies that do likewise, pass each event on at once.
        .accelBuffering: "no",
      ], body: body)
  }

  /// Every wake that brings no news is written as a comment, which keeps the connection open. News
  /// is written at once, and what follows at intervals.
  private func write(
    _ heads: AsyncStream<SpaceHead>, to writer: inout any ResponseBodyWriter,
    beside beat: @escaping @Sendable () async -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await beat() }
      var written: SpaceHead?
      for await head in heads {
        guard head != written else {
          try await writer.write(ByteBuffer(string: ":\n\n"))
          continue
        }
        written = head
        let document = PositionDocument(position: head.position, check: head.chain?.check)
        let data = String(buffer: ByteBuffer(json: document))
        try await writer.write(
          ByteBuffer(string: "event: position\nid: \(head.position)\ndata: \(data)\n\n"))
        // An injected default, as below. What ends the stream ends the wait.
        try await Task.sleep(for: Self.wakeInterval)
      }
      group.cancelAll()
    }
  }

  /// How often a stream tells news at most.
  private static let wakeInterval = Duration.milliseconds(10)

  /// Signs of life. ``HeadReader`` and ``GrantWatch`` look at all streams at once.
  private func beat(_ listener: HeadListener) async {
    while true {
      do {
        // An injected default: signs of life belong to the connection, below which a simulation is.
        try await Task.sleep(for: heartbeat)
      } catch {
        return
      }
      listener.remind()
    }
  }
}
#endif
