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
  fileprivate var answer: (status: HTTPResponse.Status, title: String) {
    switch self {
    case .malformed: (.badRequest, "The request can't be read")
    case .unsupportedVersion: (.badRequest, "The format is newer than the server")
    case .unauthorized: (.unauthorized, "No valid token")
    case .forbidden: (.forbidden, "Another space's token")
    case .notFound: (.notFound, "Nothing here")
    case .methodNotAllowed: (.methodNotAllowed, "Another method is needed")
    case .sequenceGap: (.conflict, "A sequence number was skipped")
    case .sequenceConflict: (.conflict, "Another operation has this number")
    case .cursorUnknown: (.gone, "The cursor is of another history")
    case .snapshotNeeded: (.gone, "A snapshot stands for these operations")
    case .snapshotUnknown: (.notFound, "No such snapshot or part")
    case .snapshotSuperseded: (.conflict, "The snapshot is not needed any more")
    case .snapshotIncomplete: (.conflict, "The snapshot lacks something")
    case .snapshotRefused: (.conflict, "The snapshot has other content than the space")
    case .refillNeeded: (.conflict, "An operator has to ask for a base")
    case .snapshotConflict: (.conflict, "Another part or operation has this number")
    case .stateSuperseded: (.conflict, "The report is not of the newest position")
    case .tooLarge: (.contentTooLarge, "Over a limit")
    case .unsupportedMediaType: (.unsupportedMediaType, "Another content type is needed")
    case .timeAhead: (.unprocessableContent, "The time is ahead of the server's")
    case .timeNotIncreasing: (.unprocessableContent, "The time does not increase")
    case .tooManySpaces: (.tooManyRequests, "Too many spaces")
    case .tooManyReplicas: (.tooManyRequests, "Too many replicas")
    case .authorClaimed: (.forbidden, "Another member's replica")
    case .authorBanned: (.forbidden, "A banned replica")
    case .spaceSuspended: (.forbidden, "The space is read-only")
    case .readOnly: (.forbidden, "A credential that may only read")
    case .spaceFull: (.init(code: 507), "The space is full")
    default: (.serviceUnavailable, "Not at the moment")
    }
  }
}
#endif
