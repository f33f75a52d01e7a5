#if os(Linux)
/// HTTP/1.1 through libcurl: one thread for any number of exchanges, connections kept for reuse.
///
/// - A body is buffered up to ``Configuration/bodyBufferBytes`` a response; beyond, the connection
///   is not read until the reader catches up. With gzip, what was read last can be up to
///   16 MiB more.
/// - Certificates and host names are always checked.
/// - Bodies are asked for with gzip and read without it, but for a request with an
///   `Accept-Encoding` of its own, whose answer is given as it came; where that is `identity`, gzip
///   that comes all the same is taken off. A body in any other coding, or
///   in several, ends with ``HTTPError/Code/invalidAnswer`` after its head: a few hundred bytes can
///   keep the one thread busy for many seconds with them.
/// - `http_proxy` and its relatives in the environment are followed, except for this machine
///   itself.
/// - libcurl repeats a request on its own only when a kept connection turns out to be closed and
///   ``HTTPRequest/isRepeatable`` allows it, or no byte of its body was sent. One without a body
///   that may not be repeated goes over a new connection.
public final class CurlTransport: HTTPTransport {
  public struct Configuration: Hashable, Sendable {
    /// Bytes of a body that may wait for its reader, plus one chunk of up to 16 KiB. With gzip it
    /// is what such a chunk unpacks to instead, about 1,000 times as much at the most: libcurl
    /// can't stop within it, and keeps what there is no room for.
    public var bodyBufferBytes = 256 << 10
    /// Connections that are kept open without an exchange.
    public var idleConnections = 128
    /// A PEM file with certificate authorities that replace the system's.
    public var authoritiesFile: String?
    /// The least that a server has to speak. Another one is refused with ``HTTPError/Code/tls``.
    public var minimumTLSVersion = TLSVersion.v12

    public init() {}
  }

  /// For everything in this process that needs no other configuration. Don't shut it down.
  public static let shared = CurlTransport()

  private let configuration: Configuration
  private let driver: CurlDriver

  public init(_ configuration: Configuration = Configuration()) {
    self.configuration = configuration
    driver = CurlDriver(idleConnections: configuration.idleConnections)
    driver.launch()
  }

  deinit {
    driver.close()
  }

  public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    let origin = try request.validated()
    try Task.checkCancellation()
    let transfer = try CurlTransfer(request, origin: origin, configuration: configuration)
    let head = try await driver.head(of: transfer)
    let body = CurlBody(transfer, transport: self)
    return HTTPResponse(
      status: head.status, headers: head.headers, body: HTTPBody { try await body.next() })
  }

  public func shutdown() async {
    await driver.closeAndWait()
  }

  fileprivate func next(of transfer: CurlTransfer) async throws -> [UInt8]? {
    try await driver.next(of: transfer)
  }

  fileprivate func release(_ transfer: CurlTransfer) {
    driver.cancel(transfer)
  }
}

/// Lives as long as somebody can still read the body; its end is the exchange's.
private final class CurlBody: Sendable {
  private let transfer: CurlTransfer
  private let transport: CurlTransport

  init(_ transfer: CurlTransfer, transport: CurlTransport) {
    self.transfer = transfer
    self.transport = transport
  }

  deinit {
    transport.release(transfer)
  }

  /// A reader that is cancelled already ends the exchange too, whoever else still holds the body.
  func next() async throws -> [UInt8]? {
    try await transport.next(of: transfer)
  }
}
#endif
