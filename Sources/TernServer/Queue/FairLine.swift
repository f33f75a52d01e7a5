#if Server
import Dispatch
import Synchronization
import TernCore

/// Threads of its own for blocking work, which ``SpaceTurns`` hands out.
///
/// What waits holds no thread, and leaves when its task is cancelled. A serial queue is a thread
/// while it has work, whatever other queues have: it is not of the pool that has one thread a
/// processor.
final class FairLine: Sendable {
  private struct State {
    var turns: SpaceTurns
    var waiting: [UInt64: CheckedContinuation<Void, any Error>] = [:]
    var nextTicket: UInt64 = 0
    var free: [DispatchQueue]
  }

  private let state: Mutex<State>
  private let waitingPerSpace: Int

  init(_ label: String, atOnce: Int, perSpace: Int, waitingPerSpace: Int) {
    self.waitingPerSpace = waitingPerSpace
    state = Mutex(
      State(
        turns: SpaceTurns(atOnce: atOnce, perSpace: perSpace, waitingPerSpace: waitingPerSpace),
        free: (0..<atOnce).map { DispatchQueue(label: "\(label) \($0)") }))
  }

  /// How many wait now.
  var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// Runs `body` when it is the space's turn, with a thread that is its own meanwhile.
  ///
  /// - Throws: ``RemoteError`` with `unavailable` where the space has as much waiting as it may,
  ///   and `CancellationError`, without having begun; what `body` throws.
  func turn<Value>(
    of space: SpaceName, _ body: (DispatchQueue) async throws -> Value
  ) async throws -> Value {
    try await wait(space)
    let thread = state.withLock { $0.free.removeLast() }
    defer { leave(space, thread) }
    return try await body(thread)
  }

  private func wait(_ space: SpaceName) async throws {
    let ticket = state.withLock { state in
      state.nextTicket += 1
      return state.nextTicket
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result = state.withLock { state -> Result<Void, any Error>? in
          // Whoever cancels later finds the ticket waiting.
          guard !Task.isCancelled else { return .failure(CancellationError()) }
          switch state.turns.arrive(ticket, of: space) {
          case .begins: return .success(())
          case .refused: return .failure(full)
          case .waits:
            state.waiting[ticket] = continuation
            return nil
          }
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      let continuation = state.withLock { state in
        state.turns.giveUp(ticket, of: space) ? state.waiting.removeValue(forKey: ticket) : nil
      }
      continuation?.resume(throwing: CancellationError())
    }
  }

  private func leave(_ space: SpaceName, _ thread: DispatchQueue) {
    let begun = state.withLock { state in
      state.free.append(thread)
      return state.turns.leave(space).map { state.waiting.removeValue(forKey: $0) }
    }
    for continuation in begun { continuation?.resume() }
  }

  private var full: RemoteError {
    RemoteError(
      .unavailable,
      "waitingPerSpace: the space has \(waitingPerSpace) requests that wait, its limit; try again",
      retryAfter: .seconds(1))
  }
}
#endif
