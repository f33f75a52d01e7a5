import Foundation
import TernCore

/// Why an event stream could not be read on.
public struct EventStreamError: Error, Hashable, Sendable {
  public struct Code: Hashable, Sendable {
    package enum Reason: String, Sendable {
      case notAnEventStream, lineTooLong, eventTooLarge
    }
    package let reason: Reason

    /// The answer has another content type: a portal's page, a wrong URL.
    public static let notAnEventStream = Code(reason: .notAnEventStream)
    /// A line is over ``EventStreamParser/Limit/lineBytes``.
    public static let lineTooLong = Code(reason: .lineTooLong)
    /// An event's data is over ``EventStreamParser/Limit/eventBytes``.
    public static let eventTooLarge = Code(reason: .eventTooLarge)
  }

  public let code: Code
  /// The limit that was reached, 0 for ``Code/notAnEventStream``.
  public let limitBytes: Int
}

extension EventStreamError: AdvisingError {
  public var advice: FailureAdvice {
    switch code.reason {
    case .notAnEventStream: .failed
    // The server sends what is too long again.
    case .lineTooLong, .eventTooLarge: .permanent
    }
  }
}

extension EventStreamError: CustomStringConvertible {
  public var description: String {
    switch code.reason {
    case .notAnEventStream: "the answer is no event stream"
    case .lineTooLong: "a line of the event stream is over its limit of \(limitBytes) bytes"
    case .eventTooLarge: "an event of the stream is over its limit of \(limitBytes) bytes"
    }
  }
}

extension EventStreamError: LocalizedError {
  public var errorDescription: String? { description }
}

extension EventStreamError.Code: CustomStringConvertible {
  public var description: String { reason.rawValue }
}
