import GRDB
import Synchronization

/// Tells of commits in this process that inserted into certain tables, or that notified of changes
/// to them. Other processes are found by looking.
package final class LocalWrites: TransactionObserver, Sendable {
  private let tables: Set<String>
  private let onCommit: @Sendable () -> Void
  private let state = Mutex(State())

  private struct State {
    var hasInserted = false
    /// Somebody who hears of the commit before may open another transaction then.
    var isCommitting = false
    var nextID = 0
    var listeners: [Int: AsyncStream<Void>.Continuation] = [:]
  }

  /// - Parameter onCommit: called after each such commit, on the database's queue.
  package init(tables: Set<String>, onCommit: @escaping @Sendable () -> Void = {}) {
    self.tables = tables
    self.onCommit = onCommit
  }

  /// One element a commit, coalesced while nobody looks.
  package func stream() -> AsyncStream<Void> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let id = state.withLock { state in
        state.nextID += 1
        state.listeners[state.nextID] = continuation
        return state.nextID
      }
      continuation.onTermination = { [weak self] _ in
        _ = self?.state.withLock { $0.listeners.removeValue(forKey: id) }
      }
    }
  }

  package func observes(eventsOfKind kind: DatabaseEventKind) -> Bool {
    if case .insert(let table) = kind { tables.contains(table) } else { false }
  }

  package func databaseDidChange() { state.withLock { $0.hasInserted = true } }

  package func databaseDidChange(with event: DatabaseEvent) {
    databaseDidChange()
    stopObservingDatabaseChangesUntilNextTransaction()
  }

  package func databaseWillCommit() { state.withLock { $0.isCommitting = true } }

  package func databaseDidCommit(_ db: Database) {
    let hasInserted = state.withLock { state in
      defer { (state.hasInserted, state.isCommitting) = (false, false) }
      return state.hasInserted
    }
    guard hasInserted else { return }
    tell()
    onCommit()
  }

  /// As if something had been inserted and committed.
  package func tell() {
    // In the order in which they came, so that a simulation repeats.
    let listeners = state.withLock { $0.listeners.sorted { $0.key < $1.key } }
    for (_, listener) in listeners { listener.yield() }
  }

  package func databaseDidRollback(_ db: Database) {
    // The end of a commit that failed, or of a transaction within one that did not: to look for
    // nothing costs little.
    state.withLock { state in
      if !state.isCommitting { state.hasInserted = false }
    }
  }
}
