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

  /// - Throws: ``RemoteError`` with `not-found` or `method-not-allowed`.
  init(method: HTTPRequest.Method, path: String) throws(RemoteError) {
    let parts = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    switch (parts.count, parts.first, parts.last) {
    case (1, "health", _):
      self = try Self.choose(method, [.get: .health])
    case (3, "v1", let space?) where parts[1] == "spaces":
      self = try Self.choose(method, [.get: .greet(space: space)])
    case (4, "v1", "operations") where parts[1] == "spaces":
      self = try Self.choose(
        method, [.get: .pull(space: parts[2]), .post: .push(space: parts[2])])
    case (4, "v1", "events") where parts[1] == "spaces":
      self = try Self.choose(method, [.get: .events(space: parts[2])])
    default:
      throw RemoteError(
        .notFound, "there is nothing at this path; look at the URL that the client was given")
    }
  }

  private static func choose(
    _ method: HTTPRequest.Method, _ routes: [HTTPRequest.Method: Route]
  ) throws(RemoteError) -> Route {
    guard let route = routes[method] else {
      let allowed = routes.keys.map(\.rawValue).sorted().joined(separator: ", ")
      throw RemoteError(.methodNotAllowed, "this path takes \(allowed)")
    }
    return route
  }
}

extension RemoteError.Code {
  static let notFound = Self(rawValue: "not-found")
  static let methodNotAllowed = Self(rawValue: "method-not-allowed")
  static let unsupportedVersion = Self(rawValue: "unsupported-version")
  static let unsupportedMediaType = Self(rawValue: "unsupported-media-type")
}
#endif
