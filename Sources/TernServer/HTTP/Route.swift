#if Server
import HTTPTypes
import TernCore

/// What a request asks for, by its method and path alone.
enum Route: Hashable {
  case health
  case openAPI
  /// The positions of all spaces that a credential opens.
  case spaceEvents
  /// Whatever is asked of a space needs a grant of that.
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
    if path == "/v1/openapi.json" { return [.get: .openAPI] }
    if path == "/v1/events" { return [.get: .spaceEvents] }
    let prefix = "/v1/spaces/"
    guard path.hasPrefix(prefix) else { return [:] }
    let parts = path.dropFirst(prefix.count).split(separator: "/", omittingEmptySubsequences: false)
    return SpaceRoute.all(at: Array(parts.dropFirst())).mapValues { .space(parts[0], $0) }
  }
}

/// What is asked of a space.
enum SpaceRoute: Hashable {
  case greet, push, pull, events, reportState, beginSnapshot
  case completeSnapshot(id: Substring)
  case putSnapshotPart(id: Substring, index: Int)
  case snapshotPart(id: Substring, index: Int)

  /// A line of the table.
  struct Entry: Sendable {
    let method: HTTPRequest.Method
    /// The parts of the path behind the space's name; `*` is a value.
    let path: [String]
    /// `nil` where a value is none.
    let route: @Sendable ([Substring]) -> SpaceRoute?

    fileprivate init(
      _ method: HTTPRequest.Method, _ path: String,
      _ route: @escaping @Sendable ([Substring]) -> SpaceRoute?
    ) {
      self.method = method
      self.path = path.split(separator: "/").map(String.init)
      self.route = route
    }

    fileprivate func matches(_ parts: [Substring]) -> Bool {
      parts.count == path.count && zip(path, parts).allSatisfy { $0 == "*" || $0 == $1 }
    }
  }

  /// Every route there is: a request is looked up here, and a test asks for each without a grant.
  static let table = [
    Entry(.get, "") { _ in .greet },
    Entry(.post, "operations") { _ in .push },
    Entry(.get, "operations") { _ in .pull },
    Entry(.get, "events") { _ in .events },
    Entry(.put, "state") { _ in .reportState },
    Entry(.post, "snapshots") { _ in .beginSnapshot },
    Entry(.post, "snapshots/*") { .completeSnapshot(id: $0[1]) },
    Entry(.put, "snapshots/*/parts/*") { parts in
      Int(parts[3]).map { .putSnapshotPart(id: parts[1], index: $0) }
    },
    Entry(.get, "snapshots/*/parts/*") { parts in
      Int(parts[3]).map { .snapshotPart(id: parts[1], index: $0) }
    },
  ]

  /// Whether it asks the space to take something, which a grant to read does not allow. How far a
  /// replica has read, and whose it is, belong to reading.
  var writes: Bool {
    switch self {
    case .push, .reportState, .beginSnapshot, .completeSnapshot, .putSnapshotPart: true
    case .greet, .pull, .events, .snapshotPart: false
    }
  }

  /// - Parameter parts: of the path, behind the space's name.
  fileprivate static func all(at parts: [Substring]) -> [HTTPRequest.Method: SpaceRoute] {
    var routes: [HTTPRequest.Method: SpaceRoute] = [:]
    for entry in table where entry.matches(parts) { routes[entry.method] = entry.route(parts) }
    return routes
  }
}
#endif
