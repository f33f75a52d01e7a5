#if Server
import NIOCore
import NIOHTTP1

/// Gives a request of HTTP/1.0, which need not name its host, an empty one: behind this nobody
/// knows the version, and one of HTTP/1.1 without a host is refused.
///
/// - Source: RFC 9112, section 3.2.
final class MissingHost: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .head(var head) = unwrapInboundIn(data), head.version == .http1_0,
      !head.headers.contains(name: "Host")
    else { return context.fireChannelRead(data) }
    head.headers.add(name: "Host", value: "")
    context.fireChannelRead(wrapInboundOut(.head(head)))
  }
}
#endif
