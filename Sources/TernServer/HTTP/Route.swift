#if Server
import HTTPTypes
import TernCore

/// What a request asks for, by its method and path alone.
enum Route: Hashable {
  case health
  case greet(space: Substring)
  case push(space: Substring)
  case pull(space: Substring)
  case events(space: Substring)
  case reportState(space: Substring)
  case beginSnapshot(space: Substring)
  case completeSnapshot(space: Substring, id: Substring)
  case putSnapshotPart(space: Substring, id: Substring, index: Int)
  case snapshotPart(space: Substring, id: Substring, index: Int)

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

  /// Whose token it needs; `nil` for what anybody may ask.
  var space: Substring? {
    switch self {
    case .health: nil
    case .greet(let space), .push(let space), .pull(let space), .events(let space),
      .reportState(let space), .beginSnapshot(let space), .completeSnapshot(let space, _),
      .putSnapshotPart(let space, _, _), .snapshotPart(let space, _, _):
      space
    }
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
    if parts.count > 1, parts[1] == "snapshots" { return snapshotRoutes(parts) }
    switch (parts.count, parts.last) {
    case (1, _): return [.get: .greet(space: parts[0])]
    case (2, "operations"): return [.get: .pull(space: parts[0]), .post: .push(space: parts[0])]
    case (2, "events"): return [.get: .events(space: parts[0])]
    case (2, "state"): return [.put: .reportState(space: parts[0])]
    default: return [:]
    }
  }

  private static func snapshotRoutes(_ parts: [Substring]) -> [HTTPRequest.Method: Route] {
    let space = parts[0]
    switch parts.count {
    case 2: return [.post: .beginSnapshot(space: space)]
    case 3: return [.post: .completeSnapshot(space: space, id: parts[2])]
    case 5 where parts[3] == "parts":
      guard let index = Int(parts[4]) else { return [:] }
      return [
        .get: .snapshotPart(space: space, id: parts[2], index: index),
        .put: .putSnapshotPart(space: space, id: parts[2], index: index),
      ]
    default: return [:]
    }
  }
}

extension RemoteError.Code {
  static let notFound = Self(rawValue: "not-found")
  static let methodNotAllowed = Self(rawValue: "method-not-allowed")
  static let unsupportedVersion = Self(rawValue: "unsupported-version")
  static let unsupportedMediaType = Self(rawValue: "unsupported-media-type")
}
#endif
