import Synchronization

/// Bugs that the simulation must catch, compiled in by the package trait `Rehearsal` alone.
///
/// Each stands at the one line where it would be made, so that the checkers are themselves tested.
package enum Planted: String, CaseIterable, Sendable {
  /// The server answers a push before its transaction is durable.
  case acknowledgeBeforeCommit
  /// Equal times are ordered by something that differs between replicas.
  case unstableTieBreak
  /// The cursor moves although the page was not merged whole.
  case cursorEarly
  /// A merged difference is added twice.
  case counterCountedTwice
  /// A seal removes notes that it did not read.
  case noteLost

  #if Rehearsal
  private static let active = Mutex<Planted?>(nil)

  package static func isActive(_ bug: Planted) -> Bool {
    active.withLock { $0 == bug }
  }

  /// Runs `body` with one bug in place. Not for concurrent use.
  package static func with<T>(_ bug: Planted?, _ body: () throws -> T) rethrows -> T {
    active.withLock { $0 = bug }
    defer { active.withLock { $0 = nil } }
    return try body()
  }
  /// For the rest of this process's life.
  package static func plant(_ bug: Planted) {
    active.withLock { $0 = bug }
  }
  #else
  @inlinable
  package static func isActive(_ bug: Planted) -> Bool { false }
  #endif
}
