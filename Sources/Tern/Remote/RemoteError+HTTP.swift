import Foundation
import TernCore
import TernNetwork

extension RemoteError {
  /// What an exchange without an answer means to a sync.
  init(_ error: HTTPError) {
    let code: Code =
      switch error.code {
      // The only fields of ours that come from outside are the token's.
      case .invalidHeader: .unauthorized
      case .bodyTooLarge: .unexpectedAnswer
      case .invalidURL: .invalidAddress
      default: .unreachable
      }
    self.init(code, "\(error)")
  }

  /// What any answer but a good one means.
  ///
  /// - Throws: ``HTTPError``, `CancellationError`, where its reason could not be read.
  init(refusal response: HTTPResponse) async throws {
    let retryAfter = RetryAdvice(headers: response.headers)?.delay
    if let problem = try await Self.problem(in: response), let code = problem.code {
      self.init(
        code, problem.message, replica: problem.replica.flatMap { ReplicaID($0) },
        sequence: problem.sequence, now: problem.now.map { Date(milliseconds: $0) },
        retryAfter: retryAfter)
    } else {
      self.init(
        Self.code(ofStatus: response.status),
        "the answer was status \(response.status) without a reason that Tern knows",
        retryAfter: retryAfter)
    }
  }

  /// The same without a secret that the server repeated, and short enough for a log.
  func without(_ secret: some StringProtocol) -> RemoteError {
    var error = self
    if !secret.isEmpty {
      if code.rawValue.contains(secret) { error.code = .unexpectedAnswer }
      error.message = message.replacingOccurrences(of: secret, with: "(token)")
    }
    error.message = error.message.cut(to: 500)
    return error
  }

  private static func problem(in response: HTTPResponse) async throws -> ProblemDocument? {
    guard response.hasType("application/problem+json") else { return nil }
    do {
      let bytes = try await response.collect(limit: 64 << 10)
      return try? JSONDecoder().decode(ProblemDocument.self, from: Data(bytes))
    } catch let error as HTTPError where error.code == .bodyTooLarge {
      return nil
    }
  }

  private static func code(ofStatus status: Int) -> Code {
    switch status {
    case 401: .unauthorized
    // A proxy's own limit: a smaller batch passes.
    case 413: .tooLarge
    case 429, 500...: .unavailable
    default: .unexpectedAnswer
    }
  }
}
