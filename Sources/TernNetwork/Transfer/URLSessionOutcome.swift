#if canImport(Darwin) || Rehearsal
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What is known of an upload's task as it ends.
struct URLSessionOutcome {
  /// As it was begun.
  var original: URLRequest?
  /// As the system's redirects have left it.
  var current: URLRequest?
  var response: URLResponse?
  /// Up to one byte more than the limit.
  var body: [UInt8] = []
  var error: (any Error)?
  /// No connection came about to send it over, or is not known to.
  var isUnanswered = false

  /// - Parameter limit: of the answer's body, in bytes.
  func answer(limit: Int) -> TransferAnswer {
    func origin(_ url: URL?) -> HTTPOrigin? {
      // `nil` is the answer for what is no address.
      url.flatMap { try? HTTPOrigin(of: $0.absoluteString) }
    }
    let asked = origin(original?.url)
    if let original, let current, original.httpMethod != current.httpMethod {
      // 301, 302 and 303 have the system ask for another page, without the file.
      return .failure(
        origin(current.url) == asked
          ? HTTPError(
            .unexpectedBody, origin: asked, "it is of a page that the upload was redirected to")
          : HTTPError(.otherOrigin, origin: asked, "the upload was redirected to another server"))
    }
    let isTooLong = body.count > limit
    let status = (response as? HTTPURLResponse)?.statusCode
    if isTooLong, status.map(TransferAnswer.isWanted) ?? true {
      return .failure(
        HTTPError(.bodyTooLarge, origin: asked, "over the limit of \(limit) bytes"))
    }
    // That of a task whose answer is too long is who cancelled it for that.
    let error = isTooLong ? nil : error
    if (error as? URLError)?.code == .cancelled {
      // By a person who ended the app, say: not the service's doing, nor the connection's.
      return .failure(HTTPError(.shutDown, origin: asked, "the system cancelled the upload"))
    }
    if let error {
      let unknown = HTTPError(.connectionLost, origin: nil, "the request is not known")
      return .failure(
        asked.map {
          URLSessionEvents.httpError(error, origin: $0, isUnanswered: isUnanswered)
        } ?? unknown)
    }
    guard let response = response as? HTTPURLResponse, origin(response.url) == asked else {
      return .failure(HTTPError(.otherOrigin, origin: asked, "the answer is another server's"))
    }
    let fields = response.allHeaderFields.map { name, value in
      HTTPHeaders.Field(name: "\(name)", value: "\(value)")
    }
    var head = ResponseHead(status: response.statusCode, headers: HTTPHeaders(fields))
    head.forgetCoding()
    // The status says more than that its reason is too long.
    return .response(status: head.status, headers: head.headers, body: isTooLong ? [] : body)
  }
}
#endif
