#if Server
import HTTPTypes
import Hummingbird
import NIOCore
import TernCore

/// What ends an event stream.
struct EventStream: Sendable {
  let finish: @Sendable () -> Void
  /// How long the client is to wait before it listens again, where that was said.
  let returnDelay: @Sendable () -> Duration?
}

extension SyncResponder {
  /// The space's newest position as server-sent events, until either side ends it, or the grant
  /// holds no more.
  func events(_ request: Request, by grant: Grant, _ context: Context) async throws -> Response {
    try checkHasNoBody(request)
    let cursor = Self.cursor(in: request)
    let (listener, heads) = try await queue.read {
      try service.listen(to: grant.space, by: grant, after: cursor)
    }
    let stream = EventStream(
      finish: { [weak listener] in listener?.finish() }, returnDelay: { listener.returnDelay })
    return respond(with: stream, context) { writer in try await Self.write(heads, to: &writer) }
  }

  /// Nobody would read it, and what waits to be read outlives the stream.
  func checkHasNoBody(_ request: Request) throws(RemoteError) {
    guard Int(request.headers[.contentLength] ?? "0") == 0,
      request.headers[.transferEncoding] == nil
    else {
      throw RemoteError(.malformed, "a request for events has no body; send it without one")
    }
  }

  /// Server-sent events, which `write` writes until the stream is finished.
  ///
  /// - Source: WHATWG HTML, section 9.2, "Server-sent events".
  func respond(
    with stream: EventStream, _ context: Context,
    _ write: @escaping @Sendable (inout any ResponseBodyWriter) async throws -> Void
  ) -> Response {
    context.channel.closeFuture.whenComplete { [finish = stream.finish] _ in finish() }
    // No task beside the connection's own: there are thousands of streams, which mostly wait.
    let body = ResponseBody { writer in
      try await write(&writer)
      if let delay = stream.returnDelay() {
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
  private static func write(
    _ heads: AsyncStream<SpaceHead>, to writer: inout any ResponseBodyWriter
  ) async throws {
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
      try await pauseBetweenWakes()
    }
  }

  /// So often a stream tells news at most.
  static func pauseBetweenWakes() async throws {
    // An injected default: streams belong to the connection, below which a simulation is.
    try await Task.sleep(for: .milliseconds(10))
  }
}
#endif
