#if Server
import NIOCore

/// Closes a connection on which a request's head takes too long: the first one from when the
/// connection is there, a later one from its first byte.
///
/// It is before the HTTP decoder, which says nothing of half a head. ``ConnectionWatch``, behind
/// that, tells of the whole ones.
final class HeadWatch: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private let headTime: TimeAmount
  /// Whether a head is what comes next.
  private var isAwaited = true
  private var headCount = 0
  private var end: Scheduled<Void>?

  init(headTime: Duration) { self.headTime = TimeAmount(headTime) }

  func channelActive(context: ChannelHandlerContext) {
    begin(context)
    context.fireChannelActive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let heads = headCount
    let isOfHead = isAwaited
    context.fireChannelRead(data)
    // A head that came whole takes no time.
    if isOfHead, heads == headCount { begin(context) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    stop()
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) { stop() }

  func headCame() {
    headCount += 1
    isAwaited = false
    stop()
  }

  func requestEnded() { isAwaited = true }

  private func begin(_ context: ChannelHandlerContext) {
    guard end == nil, context.channel.isActive else { return }
    end = context.eventLoop.assumeIsolated().scheduleTask(in: headTime) {
      context.close(promise: nil)
    }
  }

  private func stop() {
    end?.cancel()
    end = nil
  }
}
#endif
