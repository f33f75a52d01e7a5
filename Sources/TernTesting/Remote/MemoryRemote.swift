import Synchronization
import Tern

/// One space that lives in memory, for tests and previews: what a server does, without one.
///
/// All devices share the object. Nothing survives it.
///
/// ```swift
/// let remote = MemoryRemote()
/// let engine = SyncEngine(replica, remote: remote)
/// ```
public final class MemoryRemote: Remote {
  public let id: String
  private let nowMilliseconds: @Sendable () -> Int64?
  private let pageOperations: Int
  private let state: Mutex<State>

  fileprivate struct State {
    let epoch: String
    /// The operation at position n is at index n − 1.
    var operations: [Operation] = []
    /// Of every author, the positions of its operations in their order.
    var positions: [ReplicaID: [Int]] = [:]
    var nextListener = 0
    var listeners: [Int: AsyncThrowingStream<UInt64, any Error>.Continuation] = [:]

    var position: UInt64 { UInt64(operations.count) }
  }

  /// - Parameters:
  ///   - epoch: another one says that the space is a new one.
  ///   - pageOperations: the most that a page holds.
  ///   - nowMilliseconds: the remote's clock, by which times more than five minutes ahead are
  ///     refused; `nil` for none.
  public init(
    id: String = "memory", epoch: String = "1", pageOperations: Int = 1000,
    nowMilliseconds: @escaping @Sendable () -> Int64? = { nil }
  ) {
    self.id = id
    self.pageOperations = max(pageOperations, 1)
    self.nowMilliseconds = nowMilliseconds
    state = Mutex(State(epoch: epoch))
  }

  /// Everything that it holds, in its order.
  public var operations: [Operation] { state.withLock { $0.operations } }

  public func greet() async throws -> RemoteGreeting {
    state.withLock { state in
      RemoteGreeting(
        epoch: state.epoch, nowMilliseconds: nowMilliseconds(), position: state.position,
        heads: VersionVector(state.positions.mapValues { UInt64($0.count) }))
    }
  }

  public func push(_ operations: [Operation]) async throws -> PushReceipt {
    let now = nowMilliseconds()
    let (receipt, listeners) = try state.withLock { state in
      var draft = state
      for operation in operations { try draft.take(operation, now: now) }
      let accepted = draft.operations.count - state.operations.count
      state = draft
      return (
        PushReceipt(nowMilliseconds: now, position: state.position, accepted: accepted),
        accepted > 0 ? Array(state.listeners.values) : []
      )
    }
    for listener in listeners { listener.yield(receipt.position) }
    return receipt
  }

  public func pull(after cursor: Cursor?, excluding excluded: ReplicaID) async throws -> PulledPage
  {
    try state.withLock { state in
      let prefix = state.epoch + "."
      var position = 0
      if let cursor {
        let text = cursor.rawValue
        guard text.hasPrefix(prefix), let known = Int(text.dropFirst(prefix.count)),
          state.operations.indices.contains(known) || known == state.operations.count
        else { throw RemoteError(.cursorUnknown, "the cursor is not of this remote") }
        position = known
      }
      let page = state.operations[position...].prefix(pageOperations)
      return PulledPage(
        operations: page.filter { $0.envelope.replica != excluded },
        cursor: Cursor(rawValue: prefix + "\(page.endIndex)"),
        hasMore: page.endIndex < state.operations.count, nowMilliseconds: nowMilliseconds())
    }
  }

  public func positions() -> AsyncThrowingStream<UInt64, any Error> {
    AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let id = state.withLock { state in
        state.nextListener += 1
        state.listeners[state.nextListener] = continuation
        continuation.yield(state.position)
        return state.nextListener
      }
      continuation.onTermination = { [weak self] _ in
        _ = self?.state.withLock { $0.listeners.removeValue(forKey: id) }
      }
    }
  }

  /// Ends every stream of positions, as a lost connection does.
  public func disconnect() {
    let listeners = state.withLock { Array($0.listeners.values) }
    for listener in listeners {
      listener.finish(throwing: RemoteError(.unreachable, "the connection was cut"))
    }
  }
}

extension MemoryRemote.State {
  fileprivate mutating func take(_ operation: Operation, now: Int64?) throws {
    let envelope = operation.envelope
    let known = positions[envelope.replica] ?? []
    func refusal(_ code: RemoteError.Code, _ message: String) -> RemoteError {
      RemoteError(
        code, "operation \(envelope.sequence) of replica \(envelope.replica) \(message)",
        replica: envelope.replica, sequence: envelope.sequence, nowMilliseconds: now)
    }
    if envelope.sequence <= UInt64(known.count) {
      guard operations[known[Int(envelope.sequence) - 1]] == operation else {
        throw refusal(.sequenceConflict, "is another one here")
      }
      return
    }
    guard envelope.sequence == UInt64(known.count) + 1 else {
      throw refusal(.sequenceGap, "came before the one that it follows")
    }
    if let now, envelope.time.milliseconds > now + MemoryReplicaStore.toleratedMilliseconds {
      throw refusal(.timeAhead, "is more than five minutes ahead")
    }
    if let last = known.last.map({ operations[$0].envelope }) {
      guard last.continues ? envelope.time == last.time : envelope.time > last.time else {
        throw refusal(.timeNotIncreasing, "is not later than the one before it")
      }
    }
    positions[envelope.replica, default: []].append(operations.count)
    operations.append(operation)
  }
}
