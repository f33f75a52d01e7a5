extension HTTPProblem {
  /// Reads a failure that a service tells of in the middle of a stream, whose own status was good:
  /// an event with the document of AIP-193, `{"error": {"code", "message", "status", "details"}}`.
  ///
  /// - Parameter request: what opened the stream; its credentials are hidden in the texts.
  /// - Returns: `nil` for an event without that; ``status`` is 500 where neither code nor name say
  ///   another one.
  public init?(_ event: ServerEvent, to request: HTTPRequest) {
    let document = Array(event.data.utf8)
    guard let error = ProblemMembers(document)?.object("error") else { return nil }
    let said = error.number("code") ?? error.text("code", hiding: []).flatMap(Double.init)
    let name = error.text("status", hiding: [])?.uppercased() ?? ""
    let code = said.flatMap { 400..<600 ~= $0 ? Int($0) : nil }
    self.init(
      status: code ?? Self.statuses[name] ?? 500, headers: [:], document: document,
      hiding: request.secrets)
  }

  /// - Source: google/rpc/code.proto.
  private static let statuses = [
    "INVALID_ARGUMENT": 400, "FAILED_PRECONDITION": 400, "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401, "PERMISSION_DENIED": 403, "NOT_FOUND": 404, "ALREADY_EXISTS": 409,
    "RESOURCE_EXHAUSTED": 429, "UNAVAILABLE": 503, "DEADLINE_EXCEEDED": 504,
  ]
}
