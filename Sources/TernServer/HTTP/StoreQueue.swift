#if Server
import Dispatch

/// Runs the store's blocking calls on threads of their own, so that waiting for a disk doesn't hold
/// up the tasks of other requests.
struct StoreQueue: Sendable {
  /// One at a time, since the store's lock lets no more through; so memory holds one decoded batch.
  private let writes = DispatchQueue(label: "tern.server.writes")
  private let reads = DispatchQueue(label: "tern.server.reads", attributes: .concurrent)

  func write<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await run(work, on: writes)
  }

  func read<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await run(work, on: reads)
  }

  private func run<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value, on queue: DispatchQueue
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try work() }) }
    }
  }
}
#endif
