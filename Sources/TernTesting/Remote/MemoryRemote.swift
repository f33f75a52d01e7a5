import Foundation
import Synchronization
import Tern

/// One space that lives in memory, for tests and previews: what a server does, without one.
///
/// All devices share the object. Nothing survives it. Operations that a kept snapshot holds and
/// that everybody who ever pulled has are trimmed when a snapshot is complete. A page ends before a
/// base.
///
/// ```swift
/// let remote = MemoryRemote()
/// let engine = SyncEngine(replica, remote: remote)
/// ```
public final class MemoryRemote: Remote {
  public let id: String
  let now: @Sendable () -> Date?
  let pageOperations: Int
  let operationsPerSnapshot: Int
  let operationsPerReport: Int
  let state: Mutex<MemoryRemoteState>

  /// Whether a time is too far ahead of its clock.
  static func isAhead(_ time: HybridTime, of now: Date) -> Bool {
    time.milliseconds > now.milliseconds + 5 * 60 * 1000
  }

  /// - Parameters:
  ///   - epoch: another one says that the space is a new one.
  ///   - pageOperations: the most that a page holds.
  ///   - operationsPerSnapshot: after so many since the newest snapshot another one is asked for.
  ///   - operationsPerReport: after so many since the last state report another one is asked for.
  ///   - now: the remote's clock, by which times more than five minutes ahead are
  ///     refused; `nil` for none.
  public init(
    id: String = "memory", epoch: String = "1", pageOperations: Int = 1000,
    operationsPerSnapshot: Int = 10_000, operationsPerReport: Int = 1000,
    now: @escaping @Sendable () -> Date? = { nil }
  ) {
    self.id = id
    self.pageOperations = max(pageOperations, 1)
    self.operationsPerSnapshot = operationsPerSnapshot
    self.operationsPerReport = operationsPerReport
    self.now = now
    state = Mutex(MemoryRemoteState(epoch: epoch))
  }

  /// Everything that it was pushed, in its order, what is served no more included.
  public var operations: [SyncOperation] { state.withLock { $0.entries.compactMap { $0 } } }

  public func greet(as replica: ReplicaID?) async throws -> RemoteGreeting {
    state.withLock { state in
      let snapshot = state.whole.last
      let newer = state.entries.count - Int(snapshot?.position ?? 0)
      return RemoteGreeting(
        epoch: state.epoch, now: now(), position: state.position,
        heads: VersionVector(state.heads.mapValues(\.sequence)),
        snapshot: snapshot?.told, trimmed: UInt64(state.trimmed),
        wantsSnapshot: newer > operationsPerSnapshot || state.isDisputed(since: snapshot),
        state: state.newestReport,
        wantsState: state.entries.count - state.reportedAt >= operationsPerReport)
    }
  }

  public func report(_ report: StateReport) async throws {
    try state.withLock { state in
      guard report.cursor == state.cursor(at: state.entries.count) else {
        throw RemoteError(.stateSuperseded, "the space grew since; greet again")
      }
      if let known = state.report, known.cursor == report.cursor, !report.replaces(known) {
        state.isDisputed = state.isDisputed || !report.differingTables(from: known).isEmpty
      } else {
        (state.report, state.reportedAt) = (report, state.entries.count)
        state.isDisputed = false
      }
    }
  }

  public func push(_ operations: [SyncOperation]) async throws -> PushReceipt {
    let now = now()
    let receipt = try state.withLock { state in
      var draft = state
      for operation in operations { try draft.take(operation, now: now) }
      let accepted = draft.entries.count - state.entries.count
      state = draft
      return PushReceipt(now: now, position: state.position, accepted: accepted)
    }
    if receipt.accepted > 0 { tell(receipt.position) }
    return receipt
  }

  public func pull(after cursor: RemoteCursor?, excluding excluded: ReplicaID) async throws
    -> PulledPage
  {
    try state.withLock { state in
      let position = try cursor.map { try state.position(of: $0) } ?? 0
      guard position >= state.trimmed else {
        throw RemoteError(.snapshotNeeded, "operations up to \(state.trimmed) are in the snapshot")
      }
      let page = state.entries[position...].prefix(pageOperations).prefix { $0 != nil }
      guard !page.isEmpty || position == state.entries.count else {
        throw RemoteError(.snapshotNeeded, "a base comes next; load its snapshot")
      }
      state.readers[excluded] = position
      return PulledPage(
        operations: page.compactMap { $0 }.filter { $0.envelope.replica != excluded },
        cursor: state.cursor(at: page.endIndex), hasMore: page.endIndex < state.entries.count,
        now: now())
    }
  }

  public func positions(after cursor: RemoteCursor?) -> AsyncThrowingStream<UInt64, any Error> {
    AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let id: Int
      do {
        id = try state.withLock { state in
          if let cursor { _ = try state.position(of: cursor) }
          state.nextListener += 1
          state.listeners[state.nextListener] = continuation
          continuation.yield(state.position)
          return state.nextListener
        }
      } catch {
        continuation.finish(throwing: error)
        return
      }
      continuation.onTermination = { [weak self] _ in
        _ = self?.state.withLock { $0.listeners.removeValue(forKey: id) }
      }
    }
  }

  func tell(_ position: UInt64) {
    for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(position) }
  }
}
