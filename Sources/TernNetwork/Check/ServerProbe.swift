import Foundation

/// A question to the app's own server, which nobody else on the way can answer right.
///
/// ```swift
/// let probe = ServerProbe("https://sync.example.org/health", status: 200)
/// ```
public struct ServerProbe: Sendable {
  public var request: HTTPRequest
  /// What the server answers, or `nil` for anything but a redirect. It matters over plain HTTP
  /// alone: over TLS no other can answer at all.
  public var status: Int?

  /// - Parameters:
  ///   - url: of something small; the body is not read.
  ///   - status: over plain HTTP, what no portal says; without it one that shows its page itself is
  ///     taken for the server.
  ///   - timeout: how long an answer may take, until nothing is taken to get through.
  public init(_ url: String, status: Int? = nil, timeout: Duration = .seconds(5)) {
    request = HTTPRequest(.get, url, timeout: timeout)
    // A connection that was kept may be one of a network that is gone.
    request.needsNewConnection = true
    self.status = status
  }

  public init(_ url: URL, status: Int? = nil, timeout: Duration = .seconds(5)) {
    self.init(url.absoluteString, status: status, timeout: timeout)
  }
}

extension ServerProbe {
  enum Verdict: Hashable, Sendable {
    /// The server itself answered, however ill it may be.
    case reached
    /// Somebody else did.
    case captive
    /// Nobody did.
    case silent
    /// What happened says nothing of the way.
    case unknown
  }

  func ask(over transport: any HTTPTransport) async -> Verdict {
    do {
      let answer = try await transport.send(request)
      return verdict(status: answer.status)
    } catch let error as HTTPError {
      return Self.verdict(error)
    } catch {
      // Cancelled: whoever asked doesn't want to know any more.
      return .unknown
    }
  }

  private func verdict(status: Int) -> Verdict {
    if request.url.lowercased().hasPrefix("https:") || status == self.status { return .reached }
    if self.status == nil, status < 300 { return .reached }
    // A server of one's own fails by 4xx and 5xx. 511 is there for portals: RFC 6585, section 6.
    return status < 400 || status == 511 ? .captive : .reached
  }

  private static func verdict(_ error: HTTPError) -> Verdict {
    switch error.code {
    case .tls: .captive
    case .unresolvedHost, .unreachable, .connectTimeout, .timedOut, .idleTimeout: .silent
    default: .unknown
    }
  }
}
