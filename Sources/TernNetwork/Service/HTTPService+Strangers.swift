import Foundation

/// What answers at a service's address and is not the service. A portal is seen by a form that is
/// not the service's, and what it says means nothing for the request: the service has not got it.
extension HTTPService {
  /// Opens a stream of events: ``EventStream/open(_:after:over:limit:)`` over ``transport``.
  ///
  /// - Returns: `nil` after 204, as there.
  /// - Throws: as there; ``HTTPError`` with ``HTTPError/Code/otherOrigin``, and with
  ///   ``HTTPError/Code/notTheService`` where the service knows its refusals.
  public func events(
    from request: HTTPRequest, after lastEventID: String = "",
    limit: EventStreamParser.Limit = EventStreamParser.Limit()
  ) async throws -> EventStream? {
    try requireOwn(request.url)
    do {
      return try await EventStream.open(request, after: lastEventID, over: transport, limit: limit)
    } catch {
      throw recognized(error)
    }
  }

  /// The body of one of the service's answers as a value, as `HTTPResponse.json` has it.
  ///
  /// - Throws: as there; ``HTTPError`` with ``HTTPError/Code/notTheService`` for what begins as a
  ///   page does, whatever its media type says, where the service knows its refusals.
  public func json<Value: Decodable>(
    _ type: Value.Type = Value.self, in response: HTTPResponse, limit: Int = 4 << 20,
    decoder: JSONDecoder = JSONDecoder()
  ) async throws -> Value {
    let bytes = try await response.collect(limit: limit)
    if isOwn != nil, bytes.first(where: { $0 > 0x20 }) == UInt8(ascii: "<") {
      throw stranger("it is a web page")
    }
    return try await HTTPResponse(status: response.status, body: HTTPBody(bytes))
      .json(type, limit: limit, decoder: decoder)
  }

  /// An error as it stands, or what it says where it is not the service's.
  func recognized(_ error: any Error) -> any Error {
    guard let isOwn else { return error }
    switch error {
    case let error as HTTPError where error.code == .tls && !(error.origin?.isLoopback ?? false):
      return stranger(error.detail)
    case let error as EventStreamError where error.code == .notAnEventStream:
      return stranger("\(error)")
    case let problem as HTTPProblem where !isOwn(problem) && isStrange(problem):
      return stranger("\(problem)")
    default: return error
    }
  }

  /// Whether a refusal that is not in the service's form is somebody else's. Failures and wishes
  /// for a pause come in no form from gateways, too, which are the service's own; but over plain
  /// HTTP to another machine anybody on the way can say them.
  ///
  /// - Source: RFC 6585, section 6, for 511.
  private func isStrange(_ problem: HTTPProblem) -> Bool {
    if problem.status < 400 || problem.status == 511 || problem.advice == .permanent { return true }
    guard let origin = try? HTTPOrigin(of: url.absoluteString) else { return false }
    return origin.scheme == "http" && !origin.isLoopback
  }

  func stranger(_ said: String) -> HTTPError {
    HTTPError(.notTheService, origin: (try? HTTPOrigin(of: url.absoluteString)), said)
  }
}
