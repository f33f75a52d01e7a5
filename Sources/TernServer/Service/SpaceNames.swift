#if Server
import Synchronization

/// Names of spaces that somebody is to be told of.
final class SpaceNames: Sendable {
  private let names = Mutex<Set<SpaceName>>([])

  func note(_ name: SpaceName) { names.withLock { _ = $0.insert(name) } }

  /// All that were noted since the last time.
  func take() -> [SpaceName] {
    names.withLock { names in
      defer { names = [] }
      return names.sorted { $0.text < $1.text }
    }
  }
}
#endif
