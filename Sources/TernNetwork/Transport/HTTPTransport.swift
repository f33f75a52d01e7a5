// What any transport is, and what works over any. The two that there are: Curl and URLSession.

/// Carries HTTP exchanges: libcurl on Linux, URLSession on Apple platforms, a script in tests.
///
/// A transport follows no redirects, keeps no cookies, and reads no credentials from anywhere but
/// the request, so what a request carries goes to the request's own origin only
/// (``RedirectingTransport`` follows, and sees to that). Any number of exchanges run at once.
public protocol HTTPTransport: Sendable {
  /// Sends a request and returns when the answer's head has arrived; the body follows as it comes.
  ///
  /// Every status is an answer, not an error. When the calling task is cancelled the exchange
  /// ends at once; releasing the response without reading its body ends it too.
  ///
  /// - Throws: ``HTTPError``, `CancellationError`.
  func send(_ request: HTTPRequest) async throws -> HTTPResponse

  /// Ends every exchange with ``HTTPError/Code/shutDown`` and returns when nothing runs any more.
  ///
  /// Later requests are refused with the same code. May be called again.
  func shutdown() async
}
