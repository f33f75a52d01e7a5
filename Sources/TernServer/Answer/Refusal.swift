#if Server
import Hummingbird
import TernCore

extension Response {
  /// The answer that refuses a request.
  ///
  /// - Parameters:
  ///   - status: where it is not the code's own.
  ///   - request: by which the log names it.
  init(
    _ error: RemoteError, expected: UInt64? = nil, status: HTTPResponse.Status? = nil,
    request: RequestID?
  ) {
    let (usual, title) = error.code.answer
    let status = status ?? usual
    var problem = ProblemDocument(error, title: title, status: status.code, expected: expected)
    problem.request = request?.text
    self.init(json: problem, status: .init(code: status.code), type: "application/problem+json")
    if error.code == .unauthorized { headers[.wwwAuthenticate] = "Bearer" }
    if let retryAfter = error.retryAfter {
      headers[.retryAfter] = String(retryAfter.components.seconds)
    }
  }
}

extension RemoteError.Code {
  /// How each is answered, but for `unavailable`, as which every other code is.
  static let answers: [RemoteError.Code: (status: HTTPResponse.Status, title: String)] = [
    .malformed: (.badRequest, "The request can't be read"),
    .unsupportedVersion: (.badRequest, "The format is newer than the server"),
    .unauthorized: (.unauthorized, "No valid token"),
    .forbidden: (.forbidden, "Another space's token"),
    .notFound: (.notFound, "Nothing here"),
    .methodNotAllowed: (.methodNotAllowed, "Another method is needed"),
    .sequenceGap: (.conflict, "A sequence number was skipped"),
    .sequenceConflict: (.conflict, "Another operation has this number"),
    .cursorUnknown: (.gone, "The cursor is of another history"),
    .snapshotNeeded: (.gone, "A snapshot stands for these operations"),
    .snapshotUnknown: (.notFound, "No such snapshot or part"),
    .snapshotSuperseded: (.conflict, "The snapshot is not needed any more"),
    .snapshotIncomplete: (.conflict, "The snapshot lacks something"),
    .snapshotRefused: (.conflict, "The snapshot has other content than the space"),
    .refillNeeded: (.conflict, "An operator has to ask for a base"),
    .snapshotConflict: (.conflict, "Another part or operation has this number"),
    .stateSuperseded: (.conflict, "The report is not of the newest position"),
    .tooLarge: (.contentTooLarge, "Over a limit"),
    .unsupportedMediaType: (.unsupportedMediaType, "Another content type is needed"),
    .timeAhead: (.unprocessableContent, "The time is ahead of the server's"),
    .timeNotIncreasing: (.unprocessableContent, "The time does not increase"),
    .tooManySpaces: (.tooManyRequests, "Too many spaces"),
    .tooManyReplicas: (.tooManyRequests, "Too many replicas"),
    .authorClaimed: (.forbidden, "Another member's replica"),
    .authorBanned: (.forbidden, "A banned replica"),
    .spaceSuspended: (.forbidden, "The space is read-only"),
    .readOnly: (.forbidden, "A credential that may only read"),
    .spaceFull: (.init(code: 507), "The space is full"),
    .spaceMoved: (.gone, "Another store has the space"),
  ]

  fileprivate var answer: (status: HTTPResponse.Status, title: String) {
    Self.answers[self] ?? (.serviceUnavailable, "Not at the moment")
  }
}
#endif
