import Foundation

/// One service: where it is, and what all requests to it carry.
///
/// ```swift
/// let service = HTTPService(url, headers: ["X-Device-ID": device])
/// let request = try service.request(.get, "/v3/jobs/7", bearer: token, timeout: .seconds(60))
/// let job = try await service.answer(to: request).json(ScanJob.self)
/// ```
///
/// Requests go to the service's own origin and to no other, so that a URL in one of its answers
/// leads no credentials away.
///
/// A service that is given what its own refusals look like is told from whoever else may answer at
/// its address (`HTTPService+Strangers.swift`).
public struct HTTPService: Sendable {
  public let url: URL
  /// Sent with every request.
  public var headers: HTTPHeaders
  public let transport: any HTTPTransport
  /// `nil` where whoever answers is believed.
  let isOwn: (@Sendable (HTTPProblem) -> Bool)?

  /// - Parameter isOwn: whether a refusal is in the form in which this service refuses. With it,
  ///   what answers in the service's place is told by ``HTTPError/Code/notTheService``: a portal
  ///   that wants a person to sign in, or another program at a wrong address.
  public init(
    _ url: URL, headers: HTTPHeaders = [:],
    over transport: any HTTPTransport = SystemTransport.shared,
    recognizing isOwn: (@Sendable (HTTPProblem) -> Bool)? = nil
  ) {
    (self.url, self.headers, self.transport) = (url, headers, transport)
    self.isOwn = isOwn
  }

  /// - Parameters:
  ///   - reference: a path, or a whole URL as the service itself gave it. It is resolved against
  ///     ``url`` by RFC 3986, section 5.2: what begins with `/` takes the place of any path there.
  ///   - own: header fields of this request; one takes the place of the service's of that name.
  ///   - bearer: the token of this request, where it needs one.
  /// - Throws: ``HTTPError`` with ``HTTPError/Code/otherOrigin`` or
  ///   ``HTTPError/Code/invalidURL``.
  public func request(
    _ method: HTTPRequest.Method, _ reference: String, headers own: HTTPHeaders = [:],
    bearer: String? = nil, body: HTTPRequest.Body = .empty, timeout: Duration? = nil,
    idleTimeout: Duration? = .seconds(60)
  ) throws(HTTPError) -> HTTPRequest {
    guard let absolute = URL(string: reference, relativeTo: url)?.absoluteString else {
      throw HTTPError(.invalidURL, origin: nil, "it can't be read as a URL of the service")
    }
    try requireOwn(absolute)
    var request = HTTPRequest(
      method, absolute, headers: headers, body: body, timeout: timeout, idleTimeout: idleTimeout)
    for field in own.fields { request.headers[field.name] = nil }
    for field in own.fields { request.headers.add(field.name, field.value) }
    if let bearer { request.headers["Authorization"] = "Bearer \(bearer)" }
    return request
  }

  /// Sends a request and returns when the answer's head has arrived.
  ///
  /// - Throws: ``HTTPProblem`` for every status but 200 to 299; ``HTTPError``, with
  ///   ``HTTPError/Code/otherOrigin`` for a request that is not for this service; nothing is sent
  ///   then; with ``HTTPError/Code/notTheService`` where the service knows its refusals;
  ///   `CancellationError`.
  public func answer(to request: HTTPRequest) async throws -> HTTPResponse {
    try requireOwn(request.url)
    do {
      let response = try await transport.send(request)
      guard 200..<300 ~= response.status else { throw try await HTTPProblem(response, to: request) }
      if isOwn != nil, response.hasType("text/html") { throw stranger("it is a web page") }
      return response
    } catch {
      throw recognized(error)
    }
  }

  func requireOwn(_ asked: String) throws(HTTPError) {
    let (own, asked) = (try HTTPOrigin(of: url.absoluteString), try HTTPOrigin(of: asked))
    guard asked == own else {
      throw HTTPError(.otherOrigin, origin: own, "it names \(asked)")
    }
  }
}
