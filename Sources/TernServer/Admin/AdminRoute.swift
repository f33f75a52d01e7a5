#if Server
import HTTPTypes
import TernCore

/// What an operator can ask for over HTTP, by the name that the API's document has for it.
enum AdminCall: String, Hashable, Sendable, CaseIterable {
  case document, listSpaces, getSpace, audit
  case createSpace, deleteSpace, suspendSpace, resumeSpace, setQuota
  case openRefill, closeRefill, restoreSpace, endRestore
  case createToken, rotateToken, revokeToken
  case banReplica, unbanReplica, admitReplica, assignReplica, unassignReplica, releaseReplica
  case acceptSnapshot, dropSnapshot
}

/// A call with the values that its path has: a space's name, and a token's, replica's or
/// snapshot's id.
struct AdminRoute: Hashable {
  let call: AdminCall
  let values: [Substring]

  /// A line of the table.
  struct Entry: Sendable {
    let method: HTTPRequest.Method
    /// The parts of the path behind ``AdminRoute/root``; `*` is a value.
    let path: [String]
    let call: AdminCall

    fileprivate init(_ method: HTTPRequest.Method, _ path: String, _ call: AdminCall) {
      (self.method, self.call) = (method, call)
      self.path = path.split(separator: "/").map(String.init)
    }
  }

  static let root = "/v1/admin"

  /// Every route there is: a request is looked up here, and a test asks for each without a token.
  static let table = [
    Entry(.get, "openapi.json", .document),
    Entry(.get, "audit", .audit),
    Entry(.get, "spaces", .listSpaces),
    Entry(.get, "spaces/*", .getSpace),
    Entry(.put, "spaces/*", .createSpace),
    Entry(.delete, "spaces/*", .deleteSpace),
    Entry(.put, "spaces/*/suspension", .suspendSpace),
    Entry(.delete, "spaces/*/suspension", .resumeSpace),
    Entry(.put, "spaces/*/quota", .setQuota),
    Entry(.put, "spaces/*/refill", .openRefill),
    Entry(.delete, "spaces/*/refill", .closeRefill),
    Entry(.put, "spaces/*/restore", .restoreSpace),
    Entry(.delete, "spaces/*/restore", .endRestore),
    Entry(.post, "spaces/*/tokens", .createToken),
    Entry(.delete, "spaces/*/tokens/*", .revokeToken),
    Entry(.post, "spaces/*/tokens/*/rotation", .rotateToken),
    Entry(.put, "spaces/*/replicas/*/ban", .banReplica),
    Entry(.delete, "spaces/*/replicas/*/ban", .unbanReplica),
    Entry(.put, "spaces/*/replicas/*/admission", .admitReplica),
    Entry(.put, "spaces/*/replicas/*/member", .assignReplica),
    Entry(.delete, "spaces/*/replicas/*/member", .unassignReplica),
    Entry(.delete, "spaces/*/replicas/*/lease", .releaseReplica),
    Entry(.put, "spaces/*/snapshots/*/acceptance", .acceptSnapshot),
    Entry(.delete, "spaces/*/snapshots/*", .dropSnapshot),
  ]

  /// - Throws: ``RemoteError`` with `not-found` or `method-not-allowed`.
  init(method: HTTPRequest.Method, path: String) throws(RemoteError) {
    let entries = Self.entries(at: path)
    guard !entries.isEmpty else {
      throw RemoteError(
        .notFound, "there is nothing at this path; GET \(Self.root)/openapi.json has those that are"
      )
    }
    guard let entry = entries.first(where: { $0.method == method }) else {
      throw RemoteError(.methodNotAllowed, "this path takes \(Self.methods(at: path))")
    }
    call = entry.call
    values = zip(entry.path, Self.parts(of: path)).filter { $0.0 == "*" }.map(\.1)
  }

  /// The methods that a path takes, as the header `Allow` lists them.
  static func methods(at path: String) -> String {
    entries(at: path).map(\.method.rawValue).sorted().joined(separator: ", ")
  }

  private static func entries(at path: String) -> [Entry] {
    let parts = parts(of: path)
    return table.filter { entry in
      parts.count == entry.path.count
        && zip(entry.path, parts).allSatisfy { $0 == "*" || $0 == $1 }
    }
  }

  private static func parts(of path: String) -> [Substring] {
    path.dropFirst(root.count + 1).split(separator: "/", omittingEmptySubsequences: false)
  }
}
#endif
