import Synchronization

/// Says once, to whoever looks, that something is different now.
final class Flag: Sendable {
  private let state = Mutex(false)

  var isSet: Bool { state.withLock { $0 } }
  func set() { state.withLock { $0 = true } }
}
