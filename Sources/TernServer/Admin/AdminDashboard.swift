#if Server
import CTernPages
import HTTPTypes
import Hummingbird
import TernPages

/// A page for operators' browsers. Its files hold nobody's data, so they need no token; what they
/// show they read at ``AdminRoute/root``, with the token that an operator gives them.
struct AdminDashboard: Sendable {
  /// Its files' addresses are relative to this, so that a proxy can put it below another path.
  static let root = "/dashboard/"

  private let files: PageFiles

  init() {
    var files = PageFiles()
    files.add(tern_kit_file)
    files.add(tern_dashboard_file)
    self.files = files
  }

  /// Whether a path is for this.
  static func holds(_ path: String) -> Bool {
    path.hasPrefix(root) || path == root.dropLast()
  }

  func respond(to request: Request) -> Response {
    var response = answer(request)
    response.headers.append(contentsOf: PageFiles.headers)
    return response
  }

  private func answer(_ request: Request) -> Response {
    guard request.method == .get else {
      return Response(status: .methodNotAllowed, headers: [.allow: "GET"])
    }
    let path = request.uri.path
    guard path != Self.root.dropLast() else {
      return Response(status: .permanentRedirect, headers: [.location: "dashboard/"])
    }
    return files.response(to: String(path.dropFirst(Self.root.count - 1)))
      ?? Response(status: .notFound)
  }
}

extension PageFiles {
  /// - Parameter file: `NULL` behind the last one.
  package mutating func add(_ file: (Int) -> UnsafePointer<tern_page_file>?) {
    add(embedded: { index in
      file(index).map { ($0.pointee.name, $0.pointee.type, $0.pointee.bytes, $0.pointee.count) }
    })
  }
}
#endif
