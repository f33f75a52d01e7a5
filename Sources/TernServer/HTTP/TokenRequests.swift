#if Server
import Synchronization

/// Counts the requests that are being answered, by their token, and refuses more than a limit.
final class TokenRequests: Sendable {
  private let limit: Int
  private let counts = Mutex<[TokenDigest: Int]>([:])

  init(limit: Int) { self.limit = limit }

  /// - Throws: ``TooManyRequests``, without having run `body`; what `body` throws.
  func counting<Value>(_ token: TokenDigest, _ body: () async throws -> Value) async throws -> Value
  {
    let hasRoom = counts.withLock { counts in
      guard counts[token, default: 0] < limit else { return false }
      counts[token, default: 0] += 1
      return true
    }
    guard hasRoom else {
      throw TooManyRequests(
        "requestsPerToken: \(limit) requests with this token are being answered",
        retryAfter: .seconds(1))
    }
    defer {
      counts.withLock { counts in
        counts[token] = counts[token].flatMap { $0 > 1 ? $0 - 1 : nil }
      }
    }
    return try await body()
  }
}
#endif
