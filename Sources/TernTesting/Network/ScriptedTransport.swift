import Synchronization
import TernNetwork

/// A transport whose answers a test gives, and which remembers what it was asked.
///
/// ```swift
/// let transport = ScriptedTransport { request in
///   guard request.method == .get else { throw HTTPError(.connectionLost, origin: nil, "cut") }
///   return HTTPResponse(status: 200, body: HTTPBody(Array("[]".utf8)))
/// }
/// let remote = HTTPRemote(url, space: "home", token: { "token" }, over: transport)
/// ```
public final class ScriptedTransport: HTTPTransport {
  private struct State {
    var requests: [HTTPRequest] = []
    var isShutDown = false
  }

  private let state = Mutex(State())
  private let answer: @Sendable (HTTPRequest) async throws -> HTTPResponse

  /// - Parameter answer: called for each request, also for several at once.
  public init(_ answer: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse) {
    self.answer = answer
  }

  /// What was asked, in its order, without what came after ``shutdown()``.
  public var requests: [HTTPRequest] { state.withLock { $0.requests } }

  public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    try state.withLock { state in
      guard !state.isShutDown else {
        throw HTTPError(.shutDown, origin: nil, "the test's transport was shut down")
      }
      state.requests.append(request)
    }
    return try await answer(request)
  }

  /// Refuses what comes from now on; answers that are being given are the test's own.
  public func shutdown() async { state.withLock { $0.isShutDown = true } }
}
