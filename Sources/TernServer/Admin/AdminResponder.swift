#if Server
import HTTPTypes
import Hummingbird
import NIOCore

/// Answers whoever watches the server, and its operators.
struct AdminResponder: HTTPResponder {
  typealias Context = BasicRequestContext

  /// Whether the server takes requests.
  let isReady: @Sendable () -> Bool
  let metrics: @Sendable () -> String
  /// `nil` where nobody is an operator.
  let api: AdminAPI?
  /// `nil` where none is served.
  let dashboard: AdminDashboard?

  func respond(to request: Request, context: Context) async throws -> Response {
    if let api, AdminAPI.holds(request.uri.path) { return try await api.respond(to: request) }
    if let dashboard, AdminDashboard.holds(request.uri.path) {
      return dashboard.respond(to: request)
    }
    guard ["/health", "/ready", "/metrics"].contains(request.uri.path) else {
      return answer(.notFound, "there is /health, /ready and /metrics")
    }
    guard request.method == .get else {
      var response = answer(.methodNotAllowed, "this path takes GET")
      response.headers[.allow] = "GET"
      return response
    }
    switch request.uri.path {
    case "/health": return answer(.ok, "ok")
    case "/ready":
      return isReady() ? answer(.ok, "ready") : answer(.serviceUnavailable, "not ready")
    default: return answer(.ok, metrics(), type: MetricsText.contentType)
    }
  }

  private func answer(
    _ status: HTTPResponse.Status, _ text: String, type: String = "text/plain; charset=utf-8"
  ) -> Response {
    let text = text.hasSuffix("\n") ? text : text + "\n"
    return Response(
      status: status, headers: [.contentType: type, .cacheControl: "no-store"],
      body: .init(byteBuffer: ByteBuffer(string: text)))
  }
}
#endif
