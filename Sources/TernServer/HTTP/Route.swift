#if Server
import HTTPTypes
import TernCore

/// What a request asks for, by its method and path alone.
enum Route: Hashable {
  case health
  /// Whatever is asked of a space needs a token of that.
  case space(Substring, SpaceRoute)

  /// - Throws: ``RemoteError`` with `not-found` or `method-not-allowed`.
  init(method: HTTPRequest.Method, path: String) throws(RemoteError) {
    let routes = Self.routes(at: path)
    guard !routes.isEmpty else {
      throw RemoteError(
        .notFound, "there is nothing at this path; look at the URL that the client was given")
    }
    guard let route = routes[method] else {
      throw RemoteError(.methodNotAllowed, "this path takes \(Self.methods(at: path))")
    }
    self = route
  }

  /// The methods that a path takes, as the header `Allow` lists them.
  static func methods(at path: String) -> String {
    routes(at: path).keys.map(\.rawValue).sorted().joined(separator: ", ")
  }

  private static func routes(at path: String) -> [HTTPRequest.Method: Route] {
    if path == "/health" { return [.get: .health] }
    let prefix = "/v1/spaces/"
    guard path.hasPrefix(prefix) else { return [:] }
    let parts = path.dropFirst(prefix.count).split(separator: "/", omittingEmptySubsequences: false)
    return SpaceRoute.all(at: parts.dropFirst()).mapValues { .space(parts[0], $0) }
  }
}

/// What is asked of a space.
enum SpaceRoute: Hashable {
  case greet, push, pull, events, reportState, beginSnapshot
  case completeSnapshot(id: Substring)
  case putSnapshotPart(id: Substring, index: Int)
  case snapshotPart(id: Substring, index: Int)

  /// Whether it asks the space to take something, which a grant to read does not allow. How far a
  /// replica has read, and whose it is, belong to reading.
  var writes: Bool {
    switch self {
    case .push, .reportState, .beginSnapshot, .completeSnapshot, .putSnapshotPart: true
    case .greet, .pull, .events, .snapshotPart: false
    }
  }

  /// - Parameter parts: of the path, behind the space's name.
  fileprivate static func all(at parts: ArraySlice<Substring>) -> [HTTPRequest.Method: SpaceRoute] {
    let parts = Array(parts)
    switch (parts.count, parts.first) {
    case (0, _): return [.get: .greet]
    case (1, "operations"): return [.get: .pull, .post: .push]
    case (1, "events"): return [.get: .events]
    case (1, "state"): return [.put: .reportState]
    case (1, "snapshots"): return [.post: .beginSnapshot]
    case (2, "snapshots"): return [.post: .completeSnapshot(id: parts[1])]
    case (4, "snapshots") where parts[2] == "parts":
      guard let index = Int(parts[3]) else { return [:] }
      return [
        .get: .snapshotPart(id: parts[1], index: index),
        .put: .putSnapshotPart(id: parts[1], index: index),
      ]
    default: return [:]
    }
  }
}
#endif
