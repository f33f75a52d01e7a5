#if Server
import Hummingbird

/// Counts and times what ``SyncResponder`` answers.
struct ObservedResponder: HTTPResponder {
  typealias Context = SyncResponder.Context

  let base: SyncResponder

  func respond(to request: Request, context: Context) async throws -> Response {
    let metrics = base.metrics
    let began = metrics.now()
    let route = try? Route(method: request.method, path: request.uri.path)
    let response = try await base.respond(to: request, context: context)
    metrics.answered(
      route?.label ?? "unknown", status: response.status.code, in: metrics.now() - began)
    return response
  }
}

extension Route {
  /// By which metrics name it: without a space, of which there can be many.
  fileprivate var label: String {
    switch self {
    case .health: "health"
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
