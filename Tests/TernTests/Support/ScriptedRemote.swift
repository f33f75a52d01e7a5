import Foundation
import Synchronization
import Tern

/// A remote that says what a test tells it to; without that it is honest and keeps what is pushed.
final class ScriptedRemote: Remote {
  let id: String
  private let state: Mutex<State>

  struct State {
    var operations: [SyncOperation] = []
    var epoch = "e"
    var now = Date(milliseconds: 1_700_000_000_000)
    var heads = VersionVector()
    var position: UInt64 { UInt64(operations.count) }
    var greetings = 0
    var pulls = 0
    var pushes = 0
    /// Of snapshots.
    var parts = 0
    var onGreet: (@Sendable (inout State) throws -> RemoteGreeting)?
    var onPush: (@Sendable (inout State, [SyncOperation]) throws -> PushReceipt)?
    var onPull: (@Sendable (inout State, RemoteCursor?) throws -> PulledPage)?
    /// After each, the task that follows them yields.
    var onPosition: (@Sendable (inout State) -> UInt64)?
    var positions = 0
    var onPart: (@Sendable (Int) throws -> [UInt8])?
  }

  init(_ id: String, _ change: (inout State) -> Void = { _ in }) {
    self.id = id
    var state = State()
    change(&state)
    self.state = Mutex(state)
  }

  /// A remote that gives these operations, in one page.
  convenience init(giving operations: [SyncOperation], now: Date? = nil) {
    self.init("hostile") { state in
      state.onPush = { state, _ in
        PushReceipt(now: state.now, position: 1, accepted: 0)
      }
      state.onGreet = { state in
        RemoteGreeting(
          epoch: "e", now: state.now, position: 1, heads: VersionVector())
      }
      state.onPull = { state, _ in
        PulledPage(
          operations: operations, cursor: RemoteCursor(rawValue: "1"), hasMore: false,
          now: now ?? state.now)
      }
    }
  }

  var positionCount: Int { state.withLock { $0.positions } }
  var greetings: Int { state.withLock { $0.greetings } }
  var pulls: Int { state.withLock { $0.pulls } }
  var pushes: Int { state.withLock { $0.pushes } }
  var parts: Int { state.withLock { $0.parts } }
  var operations: [SyncOperation] { state.withLock { $0.operations } }

  func greet(as replica: ReplicaID?) async throws -> RemoteGreeting {
    try state.withLock { state in
      state.greetings += 1
      if let answer = state.onGreet { return try answer(&state) }
      return RemoteGreeting(
        epoch: state.epoch, now: state.now, position: state.position,
        heads: state.heads)
    }
  }

  func push(_ operations: [SyncOperation]) async throws -> PushReceipt {
    try state.withLock { state in
      state.pushes += 1
      if let answer = state.onPush { return try answer(&state, operations) }
      for operation in operations
      where operation.envelope.sequence == state.heads[operation.envelope.replica] &+ 1 {
        state.operations.append(operation)
        state.heads[operation.envelope.replica] += 1
      }
      return PushReceipt(
        now: state.now, position: state.position,
        accepted: operations.count)
    }
  }

  func pull(after cursor: RemoteCursor?, excluding excluded: ReplicaID) async throws -> PulledPage {
    try state.withLock { state in
      state.pulls += 1
      if let answer = state.onPull { return try answer(&state, cursor) }
      let start = cursor.flatMap { Int($0.rawValue) } ?? 0
      return PulledPage(
        operations: state.operations[start...].filter { $0.envelope.replica != excluded },
        cursor: RemoteCursor(rawValue: "\(state.operations.count)"), hasMore: false,
        now: state.now)
    }
  }

  func snapshotPart(_ index: Int, of id: String) async throws -> [UInt8] {
    try state.withLock { state in
      state.parts += 1
      return try state.onPart?(index) ?? []
    }
  }

  func positions(after cursor: RemoteCursor?) -> AsyncThrowingStream<UInt64, any Error> {
    AsyncThrowingStream {
      await Task.yield()
      if Task.isCancelled { return nil }
      return self.state.withLock { state in
        guard let next = state.onPosition else { return nil }
        state.positions += 1
        return next(&state)
      }
    }
  }
}
