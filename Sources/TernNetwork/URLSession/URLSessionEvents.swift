#if canImport(Darwin) || Rehearsal
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What a session reports, passed on to the exchange that it is about.
final class URLSessionEvents: NSObject, URLSessionDataDelegate, Sendable {
  private struct Register {
    var exchanges: [Int: URLSessionExchange] = [:]
    /// Of those, the ones for which no connection came about.
    var unanswered: Set<Int> = []
    var isClosed = false
    var isInvalidated = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }
  private let register = Mutex(Register())

  /// `nil` once closed: an invalidated session must make no task.
  func add(
    _ exchange: URLSessionExchange, as task: () -> URLSessionDataTask
  ) -> URLSessionDataTask? {
    // Within one lock: a session that is invalidated in between stops the program.
    register.withLock { register in
      guard !register.isClosed else { return nil }
      let task = task()
      register.exchanges[task.taskIdentifier] = exchange
      return task
    }
  }

  /// Takes no more exchanges and gives those that run.
  func close() -> [URLSessionExchange] {
    register.withLock { register in
      register.isClosed = true
      return Array(register.exchanges.values)
    }
  }

  var isInvalidated: Bool { register.withLock { $0.isInvalidated } }

  /// Waits until the session has told everything that it will ever tell.
  func invalidation() async {
    await withCheckedContinuation { continuation in
      let isInvalidated = register.withLock { register in
        if !register.isInvalidated { register.waiting.append(continuation) }
        return register.isInvalidated
      }
      if isInvalidated { continuation.resume() }
    }
  }

  func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
    let waiting = register.withLock { register in
      register.isInvalidated = true
      defer { register.waiting = [] }
      return register.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  private func exchange(of task: URLSessionTask) -> URLSessionExchange? {
    register.withLock { $0.exchanges[task.taskIdentifier] }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    if let response = response as? HTTPURLResponse {
      let fields = response.allHeaderFields.map { name, value in
        HTTPHeaders.Field(name: "\(name)", value: "\(value)")
      }
      var head = ResponseHead(status: response.statusCode, headers: HTTPHeaders(fields))
      head.forgetCoding()
      exchange(of: dataTask)?.receive(head)
    }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    exchange(of: dataTask)?.receive(data)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    let (exchange, isUnanswered) = register.withLock { register in
      let exchange = register.exchanges.removeValue(forKey: task.taskIdentifier)
      return (exchange, register.unanswered.remove(task.taskIdentifier) != nil)
    }
    guard let exchange else { return }
    exchange.end(
      error.map { Self.httpError($0, origin: exchange.origin, isUnanswered: isUnanswered) })
  }

  /// Comes before the end on Apple platforms (not verified), and never on Linux.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
  ) {
    guard Self.isUnanswered(metrics) else { return }
    register.withLock { register in
      guard register.exchanges[task.taskIdentifier] != nil else { return }
      register.unanswered.insert(task.taskIdentifier)
    }
  }

  /// Whether the request was not begun to be sent.
  static func isUnanswered(_ metrics: URLSessionTaskMetrics) -> Bool {
    metrics.transactionMetrics.last.map { $0.requestStartDate == nil } ?? false
  }

  /// A redirect is an answer: what the request carries stays with its own origin.
  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
    completionHandler: @escaping (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }

  /// - Parameter isUnanswered: whether it is known that no connection came about.
  static func httpError(
    _ error: any Error, origin: HTTPOrigin, isUnanswered: Bool = false
  ) -> HTTPError {
    let code = (error as? URLError)?.code
    let meaning: HTTPError.Code =
      switch code {
      case .badURL, .unsupportedURL, .appTransportSecurityRequiresSecureConnection: .invalidURL
      case .cannotFindHost, .dnsLookupFailed: .unresolvedHost
      case .cannotConnectToHost: .connectionRefused
      case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive:
        .unreachable
      // The system gives one code to a host that does not answer and to one that falls silent.
      case .timedOut: isUnanswered ? .connectTimeout : .idleTimeout
      case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
        .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
        .clientCertificateRequired:
        .tls
      case .badServerResponse, .cannotParseResponse, .cannotDecodeContentData,
        .cannotDecodeRawData, .httpTooManyRedirects, .redirectToNonExistentLocation:
        .invalidAnswer
      case .dataLengthExceedsMaximum: .bodyTooLarge
      case .fileDoesNotExist: .fileMissing
      case .noPermissionsToReadFile, .fileIsDirectory: .fileUnreadable
      // What carries uploads for the app was busy with another process, or ended.
      case .backgroundSessionInUseByAnotherProcess, .backgroundSessionWasDisconnected: .shutDown
      default: .connectionLost
      }
    // The code only: the system's sentence can name the whole URL.
    let number = "URLSession error \((error as NSError).code)"
    let detail =
      code == .appTransportSecurityRequiresSecureConnection
      ? "App Transport Security refuses plain HTTP (\(number)); use https" : number
    return HTTPError(meaning, origin: origin, detail)
  }
}
#endif
