#if Server
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Tracing

/// Names, counts, times and traces what ``SyncResponder`` answers.
final class ObservedResponder: Sendable {
  typealias Context = SyncResponder.Context

  let base: SyncResponder
  /// After so long a request is told of in the log; `nil` for never.
  let slowRequestTime: Duration?
  let tracer: any Tracer
  let logger: Logger
  private let date = AnswerDate()

  init(base: SyncResponder, slowRequestTime: Duration?, tracer: any Tracer, logger: Logger) {
    (self.base, self.slowRequestTime, self.tracer) = (base, slowRequestTime, tracer)
    self.logger = logger
  }

  /// What a task's calls need for their frames stays with the task, here with the connection's: of
  /// an event stream 20 KB for hours. In a task of its own it goes with that. A child's own memory
  /// would be in this frame, and stay too.
  func respond(to request: Request, on channel: any Channel) async throws -> Response {
    // An injected default: no other task decides when a request is answered.
    let task = Task {
      try await answer(request, Context(source: .init(channel: channel, logger: logger)))
    }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }

  private func answer(_ request: Request, _ context: Context) async throws -> Response {
    var context = context
    // An injected default: a name is no part of what a simulation decides.
    var generator = SystemRandomNumberGenerator()
    let id = RequestID(request.headers[.requestID]) ?? RequestID(using: &generator)
    context.requestID = id
    context.logger[metadataKey: "request"] = "\(id.text)"
    let metrics = base.metrics
    let began = metrics.now()
    let route = try? Route(method: request.method, path: request.uri.path)
    var response = try await traced(request, route, id) {
      try await base.respond(to: request, context: context)
    }
    response.headers[.requestID] = id.text
    response.headers[.date] = date.text
    let time = metrics.now() - began
    metrics.answered(route?.label ?? "unknown", status: response.status.code, in: time)
    log(route, response, time, context.logger)
    return response
  }

  /// The span ends with the answer's head: an event stream's would have no end for hours.
  private func traced(
    _ request: Request, _ route: Route?, _ id: RequestID, _ answer: () async throws -> Response
  ) async throws -> Response {
    var context = ServiceContext.topLevel
    tracer.extract(request.headers, into: &context, using: FieldExtractor())
    let name = route?.label ?? "unknown"
    return try await tracer.withAnySpan(name, context: context, ofKind: .server) { span in
      let response = try await answer()
      span.updateAttributes { attributes in
        attributes["http.request.method"] = request.method.rawValue
        attributes["http.response.status_code"] = response.status.code
        attributes["http.route"] = name
        attributes["tern.request"] = id.text
        if let space = route?.space { attributes["tern.space"] = space.text }
      }
      if response.status.code >= 500 { span.setStatus(.init(code: .error)) }
      return response
    }
  }

  private func log(_ route: Route?, _ response: Response, _ time: Duration, _ logger: Logger) {
    let isSlow = slowRequestTime.map { time >= $0 } ?? false
    let level = isSlow ? Logger.Level.warning : .info
    guard logger.logLevel <= level else { return }
    var metadata: Logger.Metadata = [
      "route": "\(route?.label ?? "unknown")", "status": "\(response.status.code)",
      "seconds": "\(time / .seconds(1))",
    ]
    if let space = route?.space { metadata["space"] = "\(space)" }
    logger.log(level: level, isSlow ? "slow request" : "request", metadata: metadata)
  }
}

/// Reads what a caller's tracer wrote into its request.
private struct FieldExtractor: Extractor {
  func extract(key: String, from fields: HTTPFields) -> String? {
    HTTPField.Name(key).flatMap { fields[$0] }
  }
}

extension Route {
  /// The space that it is about, where its name can be one's.
  fileprivate var space: SpaceName? {
    guard case .space(let name, _) = self else { return nil }
    return try? SpaceName(name, limits: ServerLimits())
  }

  /// By which metrics name it: without a space, of which there can be many.
  fileprivate var label: String {
    switch self {
    case .health: "health"
    case .openAPI: "openapi"
    case .spaceEvents: "space_events"
    case .space(_, let route):
      switch route {
      case .greet: "greet"
      case .push: "push"
      case .pull: "pull"
      case .events: "events"
      case .reportState: "report_state"
      case .beginSnapshot: "begin_snapshot"
      case .completeSnapshot: "complete_snapshot"
      case .putSnapshotPart: "put_snapshot_part"
      case .snapshotPart: "get_snapshot_part"
      }
    }
  }
}
#endif
