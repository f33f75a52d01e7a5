#if canImport(Darwin) || Rehearsal
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// HTTP through URLSession, for Apple platforms.
///
/// - Important: Not verified: no Apple machine has run it yet. With the trait `Rehearsal` it is
///   compiled on Linux too, where the conformance suite of all transports runs it over that
///   system's URLSession. What that one can't do is skipped there by name: `SessionGap`
///   in the tests.
///
/// ``HTTPRequest/connectTimeout`` and ``HTTPRequest/isRepeatable`` have no counterpart here: the
/// system decides on both, as it does on which codings of a body it takes off, and how many.
public final class URLSessionTransport: HTTPTransport {
  /// For everything in this process that needs no other configuration. Don't shut it down.
  public static let shared = URLSessionTransport()

  private let session: URLSession
  let events: URLSessionEvents
  private let bodyBufferBytes: Int

  /// - Parameters:
  ///   - bodyBufferBytes: Bytes of a body that may wait for its reader; what the system has read
  ///     ahead comes on top.
  ///   - minimumTLSVersion: the least that a server has to speak.
  public init(bodyBufferBytes: Int = 256 << 10, minimumTLSVersion: TLSVersion = .v12) {
    let configuration = URLSessionConfiguration.ephemeral
    #if canImport(Darwin)
    configuration.tlsMinimumSupportedProtocolVersion =
      switch minimumTLSVersion {
      case .v12: .TLSv12
      case .v13: .TLSv13
      }
    #else
    precondition(minimumTLSVersion == .v12, "Linux' URLSession has no least version to set")
    #endif
    configuration.httpMaximumConnectionsPerHost = 256
    configuration.httpShouldSetCookies = false
    configuration.urlCache = nil
    configuration.urlCredentialStorage = nil
    events = URLSessionEvents()
    session = URLSession(configuration: configuration, delegate: events, delegateQueue: nil)
    self.bodyBufferBytes = bodyBufferBytes
  }

  deinit {
    session.invalidateAndCancel()
  }

  public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    let origin = try request.validated()
    try Task.checkCancellation()
    guard let url = URL(string: request.url) else {
      throw HTTPError(.invalidURL, origin: origin, "the system can't read it")
    }
    let upload = try request.upload(origin)
    let exchange = URLSessionExchange(
      origin: origin, bodyBufferBytes: bodyBufferBytes, upload: upload)
    let foundation = request.foundation(url)
    let added = events.add(exchange) {
      upload.map { session.uploadTask(with: foundation, fromFile: $0.url) }
        ?? session.dataTask(with: foundation)
    }
    guard let task = added else {
      throw HTTPError(.shutDown, origin: origin, "it takes no more requests")
    }
    exchange.begin(task, timeout: request.timeout)
    let head = try await withTaskCancellationHandler {
      try await exchange.head.wait { task.resume() }
    } onCancel: {
      exchange.abandon(CancellationError())
    }
    let body = URLSessionBody(exchange, transport: self)
    return HTTPResponse(
      status: head.status, headers: head.headers, body: HTTPBody { try await body.next() })
  }

  public func shutdown() async {
    for exchange in events.close() {
      exchange.abandon(HTTPError(.shutDown, origin: exchange.origin, "it was ended with it"))
    }
    session.invalidateAndCancel()
    await events.invalidation()
  }
}

/// Lives as long as somebody can still read the body; its end is the exchange's.
private final class URLSessionBody: Sendable {
  private let exchange: URLSessionExchange
  private let transport: URLSessionTransport

  init(_ exchange: URLSessionExchange, transport: URLSessionTransport) {
    self.exchange = exchange
    self.transport = transport
  }

  deinit {
    exchange.abandon(CancellationError())
  }

  /// A reader that is cancelled already ends the exchange too, whoever else still holds the body.
  func next() async throws -> [UInt8]? {
    try await withTaskCancellationHandler {
      try await exchange.pipe.read { exchange.readOn() }
    } onCancel: {
      exchange.abandon(CancellationError())
    }
  }
}

extension HTTPRequest {
  /// `nil` for what the system sends from memory.
  fileprivate func upload(_ origin: HTTPOrigin) throws(HTTPError) -> URLSessionUpload? {
    switch body {
    case .empty, .bytes: nil
    case .segments, .form:
      try URLSessionUpload(BodySource(body.segments ?? [], origin: origin), origin: origin)
    }
  }

  func foundation(_ url: URL) -> URLRequest {
    var request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalAndRemoteCacheData)
    request.httpMethod = method.rawValue
    for field in sentHeaders.fields {
      request.addValue(field.value, forHTTPHeaderField: field.name)
    }
    if case .bytes(let bytes, _) = body { request.httpBody = Data(bytes) }
    // The system's timer starts again with every byte, as an idle timeout does. Linux' cuts off
    // what is less than a second: half of one would be over at once.
    let limit = idleTimeout.map { $0 / .seconds(1) } ?? 7 * 24 * 3600
    #if canImport(Darwin)
    request.timeoutInterval = limit
    #else
    request.timeoutInterval = limit.rounded(.up)
    #endif
    return request
  }
}
#endif
