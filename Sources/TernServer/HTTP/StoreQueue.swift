#if Server
import Dispatch
import Synchronization
import TernCore

/// Runs the store's blocking calls on threads of their own, so that waiting for a disk doesn't hold
/// up the tasks of other requests.
struct StoreQueue: Sendable {
  /// One at a time, since the store's lock lets no more through; so memory holds one decoded batch.
  private let writes = DispatchQueue(label: "tern.server.writes")
  /// One at a time: a check is long, and reads and writes go on beside it.
  private let checks = DispatchQueue(label: "tern.server.checks")
  private let reads = DispatchQueue(label: "tern.server.reads", attributes: .concurrent)
  /// After so long in the queue a write is not tried: another process has the file's lock, for
  /// which the ones before have waited, and this one's client would leave before its own
  /// wait is over.
  private static let patience = Duration.seconds(10)
  private let now: @Sendable () -> ContinuousClock.Instant

  init(now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }) {
    self.now = now
  }

  /// - Throws: ``RemoteError`` with `unavailable`, and `CancellationError`, without having tried;
  ///   the work's errors.
  func write<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    let end = now() + Self.patience
    let isCancelled = Mutex(false)
    return try await withTaskCancellationHandler {
      try await run(on: writes) {
        if isCancelled.withLock({ $0 }) { throw CancellationError() }
        guard now() <= end else { throw Self.busy }
        return try work()
      }
    } onCancel: {
      isCancelled.withLock { $0 = true }
    }
  }

  func read<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await run(on: reads, work)
  }

  func check<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await run(on: checks, work)
  }

  private func run<Value: Sendable>(
    on queue: DispatchQueue, _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try work() }) }
    }
  }

  private static var busy: RemoteError {
    RemoteError(
      .unavailable, "the server's file is being written to for a while; try again",
      retryAfter: .seconds(5))
  }
}
#endif
