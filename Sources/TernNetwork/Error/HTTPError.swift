import Foundation
import TernCore

/// Why an exchange came to no answer, or its body to no end.
///
/// Cancellation is not one of these: it is a `CancellationError`. The text names the origin and
/// never a path, a header value or a payload.
public struct HTTPError: Error, Hashable, Sendable {
  public struct Code: Hashable, Sendable {
    package enum Reason: String, Sendable {
      case invalidURL, otherOrigin, notTheService
      case invalidHeader, unresolvedHost, connectionRefused, unreachable
      case connectTimeout, tls, timedOut, idleTimeout, connectionLost
      case invalidAnswer, unexpectedBody, bodyTooLarge, bodyInUse, shutDown
      case fileMissing, fileUnreadable, fileChanged
    }
    package let reason: Reason

    package init(reason: Reason) {
      self.reason = reason
    }

    /// The URL is not an absolute http or https URL, or carries credentials.
    public static let invalidURL = Code(reason: .invalidURL)
    /// The URL leads away from the ``HTTPService`` whose request it is for.
    public static let otherOrigin = Code(reason: .otherOrigin)
    /// Somebody else answered in the place of an ``HTTPService``: a portal that wants a person to
    /// sign in, or whoever else's the address is.
    public static let notTheService = Code(reason: .notTheService)
    /// The method or a header field can't be sent as it stands.
    public static let invalidHeader = Code(reason: .invalidHeader)
    /// The name look-up found nothing, e.g. because there is no network.
    public static let unresolvedHost = Code(reason: .unresolvedHost)
    /// The host is there and nothing listens on the port.
    public static let connectionRefused = Code(reason: .connectionRefused)
    /// No way to the host.
    public static let unreachable = Code(reason: .unreachable)
    /// No connection within ``HTTPRequest/connectTimeout``.
    public static let connectTimeout = Code(reason: .connectTimeout)
    /// No TLS connection that can be trusted.
    public static let tls = Code(reason: .tls)
    /// The exchange took longer than ``HTTPRequest/timeout``.
    public static let timedOut = Code(reason: .timedOut)
    /// Nothing moved for ``HTTPRequest/idleTimeout``.
    public static let idleTimeout = Code(reason: .idleTimeout)
    /// The connection ended before the answer did.
    public static let connectionLost = Code(reason: .connectionLost)
    /// What came is not HTTP, or its head is over the limit.
    public static let invalidAnswer = Code(reason: .invalidAnswer)
    /// The body is not what its reader can make use of, e.g. no JSON of that form.
    public static let unexpectedBody = Code(reason: .unexpectedBody)
    /// The body is longer than its reader wanted.
    public static let bodyTooLarge = Code(reason: .bodyTooLarge)
    /// Two tasks read one body at the same time.
    public static let bodyInUse = Code(reason: .bodyInUse)
    /// The transport was shut down.
    public static let shutDown = Code(reason: .shutDown)
    /// A file of the request's body is not there.
    public static let fileMissing = Code(reason: .fileMissing)
    /// A file of the request's body can't be read.
    public static let fileUnreadable = Code(reason: .fileUnreadable)
    /// A file of the request's body has not the size that was announced, or changed while it was
    /// sent. The server got less than the whole.
    public static let fileChanged = Code(reason: .fileChanged)
  }

  public let code: Code
  /// Whom the request was for, where that is known.
  public let origin: HTTPOrigin?
  /// What happened in the transport's own words.
  public let detail: String
  /// Whether the transport knows that a part of the request's body had not left yet, as by a
  /// connection that was lost in the middle of an upload.
  public var isBodyUnsent = false

  public init(_ code: Code, origin: HTTPOrigin?, _ detail: String) {
    self.code = code
    self.origin = origin
    self.detail = detail
  }
}

extension HTTPError: AdvisingError {
  public var advice: FailureAdvice {
    switch code.reason {
    // The program ends the transport when it ends itself, and goes on another time.
    case .unresolvedHost, .connectionRefused, .unreachable, .connectTimeout, .shutDown,
      .notTheService:
      .unreachable
    // What a captive portal shows over plain HTTP, too, where nobody can tell.
    case .unexpectedBody: .failed
    // Too many open files, a device that is locked, a writer that has not finished.
    case .fileUnreadable, .fileChanged: .failed
    // Of TLS a portal is the reason, if the path was found captive meanwhile.
    case .tls, .timedOut, .idleTimeout, .connectionLost, .invalidAnswer:
      .interrupted(isLocal: origin?.isLoopback ?? false)
    case .invalidURL, .otherOrigin, .invalidHeader, .bodyTooLarge, .bodyInUse, .fileMissing:
      .permanent
    }
  }
}

extension HTTPError {
  /// Whether the server may have got the whole request, and done what it asks for, with nobody to
  /// hear the answer. `false` where it surely has not, as while ``isBodyUnsent``.
  public var mayHaveArrived: Bool {
    switch code.reason {
    case .invalidURL, .otherOrigin, .notTheService, .invalidHeader, .unresolvedHost,
      .connectionRefused, .unreachable, .connectTimeout, .tls, .fileMissing, .fileUnreadable,
      .fileChanged:
      false
    case .timedOut, .idleTimeout, .connectionLost, .invalidAnswer, .unexpectedBody,
      .bodyTooLarge, .bodyInUse, .shutDown:
      !isBodyUnsent
    }
  }
}

extension HTTPError: CustomStringConvertible {
  public var description: String {
    let subject = origin.map { " (\($0))" } ?? ""
    return "\(summary)\(subject): \(detail)"
  }

  private var summary: String {
    switch code.reason {
    case .invalidURL: "the URL can't be used"
    case .otherOrigin: "the URL leads away from the service"
    case .notTheService:
      "somebody else answered; sign in to the network, or check the service's address"
    case .invalidHeader: "the request can't be sent"
    case .unresolvedHost: "the host name was not found"
    case .connectionRefused: "the connection was refused"
    case .unreachable: "the host can't be reached"
    case .connectTimeout: "no connection in time"
    case .tls: "no trusted TLS connection"
    case .timedOut: "the exchange took too long"
    case .idleTimeout: "the connection fell silent"
    case .connectionLost: "the connection was lost"
    case .invalidAnswer: "the answer is not HTTP"
    case .unexpectedBody: "the body is not what was expected"
    case .bodyTooLarge: "the body is too large"
    case .bodyInUse: "the body is being read already"
    case .shutDown: "the transport was shut down"
    case .fileMissing: "a file of the request is missing"
    case .fileUnreadable: "a file of the request can't be read"
    case .fileChanged: "a file of the request has changed"
    }
  }
}

extension HTTPError: LocalizedError {
  public var errorDescription: String? { description }
}

extension HTTPError.Code: CustomStringConvertible {
  public var description: String { reason.rawValue }
}
