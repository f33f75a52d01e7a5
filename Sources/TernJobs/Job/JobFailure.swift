import Foundation
import TernCore

/// What a handler throws to say why its attempt failed and what that means for another one.
///
/// ```swift
/// guard answer.status == "done" else {
///   throw JobFailure(.failed, "the service has not read the photo yet")
/// }
/// ```
public struct JobFailure: AdvisingError, CustomStringConvertible {
  public let advice: FailureAdvice
  /// What happened, in a sentence for the job's reason.
  public let message: String
  public let underlyingError: (any Error)?
  public let refusesCredential: Bool

  /// - Parameters:
  ///   - message: is stored and shown, so it holds no content and no secrets.
  ///   - underlyingError: its own words follow the message; without such, its type.
  ///   - refusesCredential: whether ``JobContext/credential()`` gave what is not valid any more: a
  ///     ``FailureAdvice/permanent`` failure then waits for another one.
  public init(
    _ advice: FailureAdvice, _ message: String, underlyingError: (any Error)? = nil,
    refusesCredential: Bool = false
  ) {
    self.advice = advice
    self.message = message
    self.underlyingError = underlyingError
    self.refusesCredential = refusesCredential
  }

  public var description: String {
    message + (underlyingError.map { ": \(FailureText.of($0))" } ?? "")
  }
}

extension JobFailure: LocalizedError {}
