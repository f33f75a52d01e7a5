import TernNetwork

extension HTTPResponse {
  static func json(_ text: String, status: Int = 200) -> HTTPResponse {
    let type = status == 200 ? "application/json; charset=utf-8" : "application/problem+json"
    return HTTPResponse(
      status: status, headers: ["Content-Type": type], body: HTTPBody(Array(text.utf8)))
  }
}
