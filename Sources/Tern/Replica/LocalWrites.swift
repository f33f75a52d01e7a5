import GRDB
import Synchronization

/// Tells of commits in this process that noted something. Other processes are found by looking.
package final class LocalWrites: TransactionObserver, Sendable {
  private let noteTables: Set<String>
  private let state = Mutex(State())

  private struct State {
    var hasNoted = false
    var nextID = 0
    var listeners: [Int: AsyncStream<Void>.Continuation] = [:]
  }

  init(noteTables: Set<String>) {
    self.noteTables = noteTables
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
    if case .insert(let table) = kind { noteTables.contains(table) } else { false }
  }

  package func databaseDidChange(with event: DatabaseEvent) {
    state.withLock { $0.hasNoted = true }
    stopObservingDatabaseChangesUntilNextTransaction()
  }

  package func databaseDidCommit(_ db: Database) {
    let listeners = state.withLock { state in
      defer { state.hasNoted = false }
      return state.hasNoted ? Array(state.listeners.values) : []
    }
    for listener in listeners { listener.yield() }
  }

  package func databaseDidRollback(_ db: Database) {
    state.withLock { $0.hasNoted = false }
  }
}
