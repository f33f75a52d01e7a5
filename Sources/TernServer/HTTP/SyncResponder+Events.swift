#if Server
import HTTPTypes
import Hummingbird
import NIOCore
import TernCore

extension SyncResponder {
  /// The space's newest position as server-sent events, until either side ends it, or the grant
  /// holds no more.
  ///
  /// - Source: WHATWG HTML, section 9.2, "Server-sent events".
  func events(_ request: Request, by grant: Grant, _ context: Context) async throws -> Response {
    // Nobody would read it, and what waits to be read outlives the stream.
    guard Int(request.headers[.contentLength] ?? "0") == 0,
      request.headers[.transferEncoding] == nil
    else {
      throw RemoteError(.malformed, "a request for events has no body; send it without one")
    }
    let (listener, heads) = try await queue.read {
      try service.listen(to: grant.space, by: grant)
    }
    context.channel.closeFuture.whenComplete { [weak listener] _ in listener?.finish() }
    // No task beside the connection's own: there are thousands of streams, which mostly wait.
    let body = ResponseBody { writer in
      try await Self.write(heads, to: &writer)
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
      // An injected default: streams belong to the connection, below which a simulation is.
      try await Task.sleep(for: wakeInterval)
    }
  }

  /// How often a stream tells news at most.
  private static let wakeInterval = Duration.milliseconds(10)
}
#endif
