import Hummingbird
import NIOCore

/// A request's context that can end its connection: some misdeeds do.
package struct CuttableContext: RequestContext {
  package var coreContext: CoreRequestContextStorage
  private let channel: any Channel

  package init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
  }

  /// Closes the connection at once, whatever was to be written.
  package func cut() { channel.close(mode: .all, promise: nil) }
}

/// Thrown where the connection is closed, so that nobody writes an answer.
package struct ConnectionCut: Error {
  package init() {}
}
