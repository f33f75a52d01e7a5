#if Server
import Hummingbird
import TernCore

/// A refusal as it travels.
///
/// - Source: RFC 9457, "Problem Details for HTTP APIs".
struct ProblemDocument: Hashable, Codable {
  var type: String
  var title: String
  var status: Int
  var detail: String
  var replica: String?
  var sequence: UInt64?
  /// The server's clock, milliseconds since 1970.
  var now: Int64?
  /// The sequence number that the replica should have pushed.
  var expected: UInt64?

  init(_ error: RemoteError, expected: UInt64? = nil) {
    let kind = Self.kind(of: error.code)
    type = "urn:tern:problem:\(error.code.rawValue)"
    title = kind.title
    status = kind.status.code
    detail = error.message
    replica = error.replica?.description
    sequence = error.sequence
    now = error.nowMilliseconds
    self.expected = expected
  }

  private static func kind(of code: RemoteError.Code) -> (
    status: HTTPResponse.Status, title: String
  ) {
    switch code {
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
    case .snapshotConflict: (.conflict, "Another part or operation has this number")
    case .stateSuperseded: (.conflict, "The report is not of the newest position")
    case .tooLarge: (.contentTooLarge, "Over a limit")
    case .unsupportedMediaType: (.unsupportedMediaType, "Another content type is needed")
    case .timeAhead: (.unprocessableContent, "The time is ahead of the server's")
    case .timeNotIncreasing: (.unprocessableContent, "The time does not increase")
    case .tooManySpaces: (.tooManyRequests, "Too many spaces")
    case .tooManyReplicas: (.tooManyRequests, "Too many replicas")
    default: (.serviceUnavailable, "Not at the moment")
    }
  }
}

extension Response {
  /// The answer that refuses a request.
  init(_ error: RemoteError, expected: UInt64? = nil) {
    let problem = ProblemDocument(error, expected: expected)
    self.init(json: problem, status: .init(code: problem.status), type: "application/problem+json")
    if error.code == .unauthorized { headers[.wwwAuthenticate] = "Bearer" }
    if let retryAfter = error.retryAfter {
      headers[.retryAfter] = String(retryAfter.components.seconds)
    }
  }
}
#endif
