#if Server
import Synchronization
import TernCore

/// Holds all bodies that are being received under one limit.
final class BodyBudget: Sendable {
  private let limit: Int
  private let used = Mutex(0)

  init(limit: Int) {
    self.limit = limit
  }

  /// Runs `body` while `bytes` count as used.
  ///
  /// - Throws: ``RemoteError`` with `unavailable`, before `body` begins; errors of `body`.
  func reserving<Value>(_ bytes: Int, _ body: () async throws -> Value) async throws -> Value {
    let hasRoom = used.withLock { used in
      guard bytes <= limit - used else { return false }
      used += bytes
      return true
    }
    guard hasRoom else {
      throw RemoteError(
        .unavailable, "bodyBytesInFlight: the server is receiving much at once; push again later",
        retryAfter: .seconds(1))
    }
    defer { used.withLock { $0 -= bytes } }
    return try await body()
  }
}
#endif
