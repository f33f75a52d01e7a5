#if Server
import NIOCore
import NIOHTTPTypes

/// Takes what is left of a body whose request is answered, and forgets it: a client that sends all
/// of it first would otherwise wait for the server, and the server for the client.
///
/// - Source: RFC 9112, section 9.6, on the close that a client's bytes would turn into a reset.
final class RefusedBody: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  /// How long a client may go on sending.
  private static let time = TimeAmount.seconds(30)

  private var isArriving = false
  private var isAnswered = false
  private var end: Scheduled<Void>?

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head: isArriving = true
    case .body where isAnswered: return
    case .body: break
    case .end:
      isArriving = false
      isAnswered = false
      stop()
    }
    context.fireChannelRead(data)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    context.fireChannelReadComplete()
    // Past whoever takes no more.
    if isAnswered { context.read() }
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let part = unwrapOutboundIn(data)
    context.write(data, promise: promise)
    guard case .end = part, isArriving, !isAnswered else { return }
    isAnswered = true
    end = context.eventLoop.assumeIsolated().scheduleTask(in: Self.time) {
      context.close(promise: nil)
    }
    context.read()
  }

  func channelInactive(context: ChannelHandlerContext) {
    stop()
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) { stop() }

  private func stop() {
    end?.cancel()
    end = nil
  }
}
#endif
