#if Server
import NIOCore
import NIOHTTPTypes
import NIOHTTPTypesHTTP1

/// Knows what of the answers on a connection is still to leave, and closes one that takes nothing
/// of it, or whose request does not come to its end: nobody else looks at these two.
///
/// It looks once in `writeTime` while there is something to look at, and so closes within twice of
/// it; a timer for every write would have to be found again among those of all connections.
///
/// It also brings what watches a connection before it, and tells ``ConnectionBook``.
final class ConnectionWatch: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  private let writeTime: TimeAmount
  private let requestTime: TimeAmount
  private let connections: ConnectionBook
  private let heads: HeadWatch
  /// The parts of answers that are not the system's yet.
  private var unwritten = 0
  /// When the last of them became so, or the first of them came.
  private var writeProgress = NIODeadline.distantPast
  /// When the request began that has not come to its end.
  private var requestBegan: NIODeadline?
  private var nextLook: Scheduled<Void>?
  /// Who waits until nothing is unwritten.
  private var drained: EventLoopPromise<Void>?

  init(
    writeTime: Duration, requestTime: Duration, headTime: Duration, connections: ConnectionBook
  ) {
    self.writeTime = TimeAmount(writeTime)
    self.requestTime = TimeAmount(requestTime)
    self.connections = connections
    heads = HeadWatch(headTime: headTime)
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let pipeline = context.pipeline.syncOperations
    do {
      try pipeline.addHandler(heads, position: .first)
      try pipeline.addHandler(
        MissingHost(), position: .before(pipeline.handler(type: HTTP1ToHTTPServerCodec.self)))
      // A channel keeps what it read into last, and most have read one head. It grows with bodies.
      try context.channel.syncOptions?.setOption(
        .recvAllocator,
        value: AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 512, maximum: 65_536))
    } catch {
      context.close(promise: nil)
    }
  }

  func channelActive(context: ChannelHandlerContext) {
    connections.open(context.channel)
    context.fireChannelActive()
  }

  func channelInactive(context: ChannelHandlerContext) {
    connections.closed(context.channel)
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head:
      heads.headCame()
      requestBegan = .now()
      watch(context)
    case .body: break
    case .end:
      heads.requestEnded()
      requestBegan = nil
    }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let written = promise ?? context.eventLoop.makePromise(of: Void.self)
    if unwritten == 0 { writeProgress = .now() }
    unwritten += 1
    let isLast = if case .end = unwrapOutboundIn(data) { true } else { false }
    let channel = context.channel
    written.futureResult.hop(to: context.eventLoop).assumeIsolated().whenComplete { _ in
      self.unwritten -= 1
      self.writeProgress = .now()
      if isLast { self.connections.answered(channel) }
      guard self.unwritten == 0 else { return }
      self.drained?.succeed()
      self.drained = nil
    }
    watch(context)
    context.write(data, promise: written)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    nextLook?.cancel()
    nextLook = nil
    drained?.fail(ChannelError.ioOnClosedChannel)
    drained = nil
  }

  /// Returns when the system has taken all that was written to a connection. An answer's writer
  /// doesn't wait for that, and so lets as much as there is into memory and counts it as given.
  ///
  /// - Throws: `ChannelError` where the connection is closed, as a cancelled wait closes it too.
  static func drain(_ channel: any Channel) async throws {
    let drained = channel.eventLoop.flatSubmit { () -> EventLoopFuture<Void> in
      do {
        let watch = try channel.pipeline.syncOperations.handler(type: ConnectionWatch.self)
        return watch.drain(on: channel.eventLoop)
      } catch {
        return channel.eventLoop.makeFailedFuture(error)
      }
    }
    try await withTaskCancellationHandler {
      try await drained.get()
    } onCancel: {
      channel.close(mode: .all, promise: nil)
    }
  }

  private func drain(on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
    guard unwritten > 0 else { return eventLoop.makeSucceededVoidFuture() }
    let promise = drained ?? eventLoop.makePromise(of: Void.self)
    drained = promise
    return promise.futureResult
  }

  private func watch(_ context: ChannelHandlerContext) {
    guard nextLook == nil else { return }
    nextLook = context.eventLoop.assumeIsolated().scheduleTask(in: writeTime) {
      self.nextLook = nil
      self.look(context)
    }
  }

  private func look(_ context: ChannelHandlerContext) {
    let now = NIODeadline.now()
    let isStalled = unwritten > 0 && now - writeProgress >= writeTime
    let isLate = requestBegan.map { now - $0 >= requestTime } ?? false
    if isStalled || isLate { return context.close(promise: nil) }
    if unwritten > 0 || requestBegan != nil { watch(context) }
  }
}
#endif
