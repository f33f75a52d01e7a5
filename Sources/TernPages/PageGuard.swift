#if Server
import HTTPTypes

/// Which requests a page's server answers: those of its own page, which has the token.
///
/// Another site in the same browser can send requests here, and with DNS rebinding under a name of
/// its own. It knows no token; and its `Host`, `Origin` or `Sec-Fetch-Site` is another one.
struct PageGuard: Sendable {
  let token: PageToken
  /// On which the server listens.
  let port: Int

  /// Why a request is refused, with the status.
  struct Refusal: Error, Hashable {
    let status: HTTPResponse.Status
    let message: String
    /// Tells the page which it is.
    var code = "refused"
    /// Whether to ask again may help.
    var passes = false
  }

  private var hosts: Set<String> {
    let names = ["127.0.0.1", "localhost"]
    // Of the default port a browser says nothing.
    return Set(names.map { "\($0):\(port)" } + (port == 80 ? names : []))
  }

  /// For everything, the page's files too.
  func checkPlace(_ request: HTTPRequest) throws(Refusal) {
    guard let host = request.authority, hosts.contains(host) else {
      throw Refusal(
        status: .misdirectedRequest, message: "this page is at 127.0.0.1 and localhost alone")
    }
    if let origin = request.headerFields[.origin], origin != "http://\(host)" {
      throw Refusal(status: .forbidden, message: "another site may not use this page")
    }
  }

  /// For what reads or changes data.
  func checkReader(_ request: HTTPRequest) throws(Refusal) {
    let site = request.headerFields[Self.site]
    if let site, site != "same-origin", site != "none" {
      throw Refusal(status: .forbidden, message: "another site may not use this page")
    }
    let scheme = "Bearer "
    guard let given = request.headerFields[.authorization], given.hasPrefix(scheme),
      token.matches(given.dropFirst(scheme.count))
    else {
      throw Refusal(
        status: .unauthorized,
        message: "open the page by the whole address that the program printed when it started")
    }
  }

  private static let site = HTTPField.Name("Sec-Fetch-Site")!
}
#endif
