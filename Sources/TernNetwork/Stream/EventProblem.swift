import Foundation
import TernCore

/// A failure that a server tells of in an event stream, as data of the form
/// `{"code", "message", "retryable"}`.
///
/// Its texts are treated like those of an ``HTTPProblem``.
public struct EventProblem: Error, Hashable, Sendable {
  /// The service's own name for the kind of problem.
  public var code: String?
  public var message: String?
  /// Whether the service says that the same can succeed later.
  public var retryable: Bool?

  /// Reads an event's data. Members that are missing or of another type are `nil`, all of them
  /// where the data are no JSON object.
  ///
  /// - Parameter request: what opened the stream; its credentials are hidden in the texts.
  public init(_ event: ServerEvent, to request: HTTPRequest) {
    guard let members = ProblemMembers(Array(event.data.utf8)) else { return }
    let secrets = request.secrets
    code = members.text("code", hiding: secrets)
    message = members.text("message", hiding: secrets)
    retryable = members.flag("retryable")
  }
}

extension EventProblem: AdvisingError {
  /// Permanent only where the service says so.
  public var advice: FailureAdvice { retryable == false ? .permanent : .failed }
}

extension EventProblem: CustomStringConvertible {
  public var description: String {
    let name = code.map { " \($0)" } ?? ""
    return "the server reported a failure\(name): \(message ?? "it gave no reason")"
  }
}

extension EventProblem: LocalizedError {
  public var errorDescription: String? { description }
}
