import Foundation
import Observation
import Synchronization

/// What a sync is doing and has done since its engine was made: observable, and an asynchronous
/// sequence of its changes.
///
/// ```swift
/// for await status in engine.status.updates { print(status.phase, status.unpushed) }
/// ```
public final class SyncStatus: Observable, Sendable {
  /// One moment.
  public struct Moment: Hashable, Sendable {
    /// What the engine is about.
    public enum Phase: String, Hashable, Sendable, Codable {
      /// `run()` was not called, or has returned; or a single sync has, and left what
      /// was written meanwhile.
      case stopped
      /// Talking to the remote.
      case syncing
      /// Both sides have the same operations.
      case upToDate
      /// After a failure, until the next attempt. Being offline is this. What the remote refuses
      /// to take, or withholds, keeps nothing else from being pulled meanwhile.
      case waiting
    }

    public var phase = Phase.stopped
    /// Operations that the remote is not known to have; until it has answered, of this replica's
    /// own. 0 before the first sync, and not counted anew while the engine is stopped.
    public var unpushed = 0
    /// Operations that the remote acknowledged.
    public var pushed = 0
    /// Operations of other replicas that were merged.
    public var pulled = 0
    /// Rows whose table does not show what the state has of them.
    public var quarantined = 0
    /// Rows that are too large to travel, by table: make them shorter.
    public var largeRows: [String: Int] = [:]
    /// The app's triggers that don't run for merged rows, and why. Split one that also mirrors rows
    /// into tables that don't sync.
    public var skippedTriggers: [SkippedTrigger] = []
    /// Operations that are in the log and wait, and for what.
    public var pending = PendingOperations()
    /// Replicas of whom a remote has other operations than are here, and takes and gives no more;
    /// and ids of this device of which another one says so.
    public var forks: [ReplicaFork] = []
    /// Tables that held something else than another replica's with the same operations when they
    /// were compared last: a fault or damage, of one of the two, which a snapshot mends.
    public var differingTables: [String] = []
    /// How often a snapshot took the place of this device's state because of that.
    public var repairs = 0
    /// Why this device could not give the remote the last snapshot that it asked for: a row may be
    /// too long for one. Without any, the remote keeps all operations.
    public var snapshotError: RemoteError?
    /// The new id that this replica has since the engine was made, because its database is a copy,
    /// or because the remote lost what it had.
    public var idChange: ReplicaIDChange?
    /// Why the last attempt failed; `nil` after a success.
    public var lastError: RemoteError?
    /// When this device and the remote last had the same, by ``SyncEnvironment/wallClock``; `nil`
    /// while they have not since the engine was made.
    public var lastUpToDate: Date?
    /// How far the remote's clock is ahead of this one's.
    public var clockOffset: Duration?

    public init() {}
  }

  private struct State {
    var moment = Moment()
    var nextID = 0
    var listeners: [Int: AsyncStream<Moment>.Continuation] = [:]
  }

  private let registrar = ObservationRegistrar()
  private let state = Mutex(State())

  package init() {}

  deinit {
    for listener in state.withLock({ Array($0.listeners.values) }) { listener.finish() }
  }

  /// The present moment; read inside `withObservationTracking` it is observed.
  public var current: Moment {
    registrar.access(self, keyPath: \.current)
    return state.withLock { $0.moment }
  }

  /// The present moment and every later one; who reads slowly sees the newest. Ends when nobody
  /// has the engine or this status any more; who reads keeps neither.
  public var updates: AsyncStream<Moment> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let id = state.withLock { state in
        state.nextID += 1
        state.listeners[state.nextID] = continuation
        continuation.yield(state.moment)
        return state.nextID
      }
      continuation.onTermination = { [weak self] _ in
        _ = self?.state.withLock { $0.listeners.removeValue(forKey: id) }
      }
    }
  }

  package func update(_ change: (inout Moment) -> Void) {
    let (moment, listeners) = state.withLock { state in
      let old = state.moment
      change(&state.moment)
      return (state.moment, state.moment == old ? nil : Array(state.listeners.values))
    }
    guard let listeners else { return }
    // Stored before: whoever is told looks again at once, on another thread perhaps, and is told of
    // nothing more until it has.
    registrar.withMutation(of: self, keyPath: \.current) {}
    for listener in listeners { listener.yield(moment) }
  }
}
