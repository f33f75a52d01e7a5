import ExampleService
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle

extension ScanResponder {
  /// A job's events from where the client left off, to the job's end or either side's.
  func stream(
    _ job: ScanJob, _ request: Request, _ context: CuttableContext
  ) -> Response {
    let start = job.beginning(after: request.headers[.lastEventID])
    let body = ResponseBody { writer in
      await board.streamOpened()
      let listener = job.listen()
      do {
        try await request.body.consumeWithInboundCloseHandler { _ in
          try await withGracefulShutdownHandler {
            try await write(job, from: start, listener, context, to: &writer)
          } onGracefulShutdown: {
            listener.wake.finish()
          }
        } onInboundClosed: {
          listener.wake.finish()
        }
      } catch {
        job.leave(listener.id)
        await board.streamClosed()
        throw error
      }
      job.leave(listener.id)
      await board.streamClosed()
      try await writer.finish(nil)
    }
    return Response(
      status: .ok,
      headers: [.contentType: "text/event-stream", .cacheControl: "no-store"], body: body)
  }

  private func write(
    _ job: ScanJob, from start: Int64, _ listener: ScanJob.Listener, _ context: CuttableContext,
    to writer: inout any ResponseBodyWriter
  ) async throws {
    let cut = mischief.take(.cutStream)
    let hasOnlyPings = mischief.take(.pingsOnly) != nil
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await beat(listener.wake) }
      defer { group.cancelAll() }
      var (position, written) = (start, 0)
      for await wake in listener.wakes {
        let (events, isOver) =
          hasOnlyPings ? ([], false) : job.take(after: position, now: clock.nowMilliseconds)
        for event in events {
          try await writer.write(ByteBuffer(string: event.text))
          (position, written) = (event.milliseconds, written + 1)
          if let cut, written == cut.value ?? 1 {
            context.cut()
            throw ConnectionCut()
          }
        }
        if isOver { return }
        if events.isEmpty, wake == .ping {
          let ping = job.ping(now: clock.nowMilliseconds)
          try await writer.write(ByteBuffer(string: ping.text))
        }
      }
    }
  }

  private func beat(_ wake: AsyncStream<ScanJob.Wake>.Continuation) async {
    // Cancelled when the stream ends.
    while (try? await Task.sleep(for: board.limits.pingInterval)) != nil { wake.yield(.ping) }
  }
}
