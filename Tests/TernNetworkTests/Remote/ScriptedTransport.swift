import Synchronization
import TernNetwork

/// Answers every request with what a closure says and remembers them.
final class ScriptedTransport: HTTPTransport {
  private let seen = Mutex<[HTTPRequest]>([])
  private let answer: @Sendable (HTTPRequest) throws -> HTTPResponse

  init(_ answer: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse) {
    self.answer = answer
  }

  var requests: [HTTPRequest] { seen.withLock { $0 } }

  func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    seen.withLock { $0.append(request) }
    return try answer(request)
  }

  func shutdown() async {}
}

extension HTTPResponse {
  static func json(_ text: String, status: Int = 200) -> HTTPResponse {
    let type = status == 200 ? "application/json; charset=utf-8" : "application/problem+json"
    return HTTPResponse(
      status: status, headers: ["Content-Type": type], body: HTTPBody(Array(text.utf8)))
  }
}
