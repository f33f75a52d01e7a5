#if Server
import TernCore

/// Thrown where a token has as much under way, or has cost as much, as it may. Devices take it as
/// they take an overloaded server.
struct TooManyRequests: Error {
  let refusal: RemoteError

  /// - Parameter reason: the limit's name, and how the token is at it.
  init(_ reason: String, retryAfter: Duration) {
    refusal = RemoteError(.unavailable, "\(reason); ask again later", retryAfter: retryAfter)
  }
}
#endif
