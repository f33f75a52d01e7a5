import Foundation
import TernCore

/// A server's answer that it did not do what was asked, with the reason that it gave.
///
/// Every text is the server's: cut to 500 characters, without control characters, and with what the
/// request carried as credentials hidden where the server repeats it.
///
/// - Source: RFC 9457, "Problem Details for HTTP APIs"; `code`, `retryable` and `retryAfterMs` are
///   members that several services add. Google's AIP-193, "Errors", in which the reasons stand in a
///   member `error`, is read as well.
public struct HTTPProblem: Error, Hashable, Sendable {
  public var status: Int
  /// A URI that names the kind of problem.
  public var type: String?
  public var title: String?
  public var detail: String?
  /// What names this one occurrence, to tell the server's operators.
  public var instance: String?
  /// The service's own name for the kind of problem.
  public var code: String?
  /// The service's own name for the cause, finer than ``code``: `ErrorInfo` of AIP-193.
  public var reason: String?
  /// Whether the service says that the same request can succeed later.
  public var retryable: Bool?
  /// How long the service asks to be left alone, from the answer's arrival: the longest one where
  /// `Retry-After`, `retryAfterMs` and `RetryInfo` differ.
  public var delay: Duration?

  public init(status: Int) {
    self.status = status
  }
}

extension HTTPProblem: AdvisingError {
  /// - 429, and 503 with a ``delay``, limit the caller. They say when to come back, so they are not
  ///   permanent whatever ``retryable`` says.
  /// - Otherwise ``retryable`` decides: the service knows better than its status what it refused.
  /// - Without it 4xx is permanent, but for 408; everything else has failed and may succeed.
  public var advice: FailureAdvice {
    if status == 429 || (status == 503 && delay != nil) { return .limited(delay: delay) }
    if let retryable { return retryable ? .failed : .permanent }
    return (400..<500).contains(status) && status != 408 ? .permanent : .failed
  }

  /// 401 and 403, where the service does not say by ``retryable`` whether it helps to come back.
  public var refusesCredential: Bool { (status == 401 || status == 403) && retryable == nil }
}

extension HTTPProblem {
  /// Whether the server may have done what was asked, as for ``HTTPError/mayHaveArrived``: after
  /// 502 and 504, in which a proxy says that it got no answer that it could hand on.
  ///
  /// - Source: RFC 9110, sections 15.6.3 and 15.6.5.
  public var mayHaveArrived: Bool { status == 502 || status == 504 }
}

extension HTTPProblem: CustomStringConvertible {
  public var description: String {
    let name = code.map { " \($0)" } ?? ""
    let reason = [title, detail].compactMap { $0 }.joined(separator: ": ")
    return "the server answered \(status)\(name)\(reason.isEmpty ? "" : ": " + reason)"
  }
}

extension HTTPProblem: LocalizedError {
  public var errorDescription: String? { description }
}
