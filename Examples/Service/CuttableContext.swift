#if Server
import Hummingbird
import NIOCore

/// A request's context that can end its connection: some misbehaviour does.
struct ScanContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  private let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
  }

  /// Closes the connection at once, whatever was to be written.
  func cut() { channel.close(mode: .all, promise: nil) }
}

/// Thrown where the connection is closed, so that nobody writes an answer.
struct ConnectionCut: Error {}
#endif
