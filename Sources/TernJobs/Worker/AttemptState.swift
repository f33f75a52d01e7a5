import Synchronization

/// What an attempt has in memory, for all copies of its ``JobContext``.
final class AttemptState: Sendable {
  /// Paths by name.
  private let files: Mutex<[String: String]>
  private let steps = Mutex<Set<String>>([])

  init(files: [String: String]) {
    self.files = Mutex(files)
  }

  func path(_ name: String) -> String? { files.withLock { $0[name] } }

  func set(_ name: String, _ path: String?) { files.withLock { $0[name] = path } }

  /// - Returns: whether no step of that name was under way.
  func begin(step name: String) -> Bool { steps.withLock { $0.insert(name).inserted } }

  func end(step name: String) { steps.withLock { _ = $0.remove(name) } }
}
