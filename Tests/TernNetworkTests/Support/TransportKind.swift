#if os(Linux)
import Testing

@testable import TernNetwork

/// The transports that pass one suite. `URLSessionTransport` runs over Linux' own URLSession here, which
/// is not Apple's.
enum TransportKind: String, CaseIterable, CustomTestStringConvertible {
  case libcurl
  #if Rehearsal
  case urlSession
  #endif

  var testDescription: String { rawValue }

  func make(
    bodyBufferBytes: Int = 256 << 10, least: TLSVersion = .v12, authorities: String? = nil
  ) throws -> any HTTPTransport {
    switch self {
    case .libcurl:
      var configuration = CurlTransport.Configuration()
      configuration.bodyBufferBytes = bodyBufferBytes
      configuration.minimumTLSVersion = least
      configuration.authoritiesFile = authorities
      return CurlTransport(configuration)
    #if Rehearsal
    case .urlSession:
      if authorities != nil { try skip(.authorities) }
      return URLSessionTransport(bodyBufferBytes: bodyBufferBytes, minimumTLSVersion: least)
    #endif
    }
  }

  /// Ends the test where Linux' URLSession can't do what it is about.
  func skip(_ gap: SessionGap) throws {
    if self != .libcurl { try Test.cancel("URLSession on Linux \(gap.rawValue)") }
  }

  var isLibcurl: Bool { self == .libcurl }
}

/// What URLSession can't do on Linux.
enum SessionGap: String {
  case authorities =
    "takes no certificate authority of one's own, so none of its servers is trusted"
  case connecting = "has no limit for connecting: to it that is silence"
  case dots = "resolves the dots of a path, and joins fields of one name"
  case causes = "tells a cut answer, one that is no HTTP and a failure of TLS from nothing else"
  case duplex = "reads no answer before the whole body is sent"
  case flat = "holds what a reader has not taken in memory"
  case informational = "takes an informational answer for the answer"
  case repetition = "decides by itself what is sent twice"
}
#endif
