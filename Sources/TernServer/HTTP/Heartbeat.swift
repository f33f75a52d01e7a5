#if Server

/// Signs of life on all event streams, so that proxies keep them open and devices know that they
/// are: one a while on each, and never on many of them at once.
struct Heartbeat: Sendable {
  let board: HeadBoard
  /// How often a stream has one.
  let interval: Duration
  /// Into so many parts the streams are divided, which have theirs one after the other.
  private static let parts = 15

  /// Returns when its task is cancelled.
  func run() async {
    var part = 0
    while true {
      do {
        // An injected default: streams belong to the connection, below which a simulation is.
        try await Task.sleep(for: interval / Self.parts)
      } catch {
        return
      }
      for (_, listener, _) in board.streams
      where !listener.isOfSeveral && listener.number % Self.parts == part {
        listener.remind()
      }
      for spaces in board.ofSeveral where spaces.number % Self.parts == part { spaces.remind() }
      part = (part + 1) % Self.parts
    }
  }
}
#endif
