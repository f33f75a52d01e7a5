import Foundation

/// Scheme, host and port of a URL: all of it that may appear in a message or a log.
public struct HTTPOrigin: Hashable, Sendable {
  /// `http` or `https`.
  public let scheme: String
  /// In lower case; an IPv6 address stands in brackets.
  public let host: String
  public let port: Int

  /// - Throws: ``HTTPError`` with ``HTTPError/Code/invalidURL``.
  public init(of url: String) throws(HTTPError) {
    guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(),
      let host = parts.encodedHost?.lowercased(), !host.isEmpty
    else { throw HTTPError(.invalidURL, origin: nil, "it can't be read as an absolute URL") }
    guard scheme == "http" || scheme == "https" else {
      throw HTTPError(.invalidURL, origin: nil, "only http and https are spoken")
    }
    guard parts.user == nil, parts.password == nil else {
      throw HTTPError(.invalidURL, origin: nil, "credentials belong in a header field")
    }
    let port = parts.port ?? (scheme == "https" ? 443 : 80)
    guard (1...65535).contains(port) else {
      throw HTTPError(.invalidURL, origin: nil, "the port is out of range")
    }
    self.scheme = scheme
    self.host = host
    self.port = port
  }

  /// Whether the host names this very machine.
  package var isLoopback: Bool {
    host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]"
      || (host.hasPrefix("127.") && host.allSatisfy { $0.isNumber || $0 == "." })
  }
}

extension HTTPOrigin: CustomStringConvertible {
  public var description: String { "\(scheme)://\(host):\(port)" }
}
