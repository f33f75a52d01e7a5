#if os(Linux)
import CCurl
import Synchronization

/// One exchange. Whoever wants something of it names this object and never its easy handle, whose
/// address the next exchange may get.
///
/// `@unchecked Sendable`: `head`, `pipe` and `isAbandoned` are for every thread; everything that
/// can change is touched by the driver's thread alone, which also runs libcurl's callbacks.
final class CurlTransfer: @unchecked Sendable {
  let request: HTTPRequest
  let origin: HTTPOrigin
  let head = HeadPromise()
  let pipe: BodyPipe
  let configuration: CurlTransport.Configuration
  /// Released, and its files closed, as soon as libcurl is done with the transfer.
  var source: BodySource?
  private let abandoned = Atomic(false)

  /// Set from the moment at which libcurl has the transfer to the one at which it hasn't.
  var easy: UnsafeMutableRawPointer?
  var headerList: UnsafeMutablePointer<curl_slist>?
  var answer = ResponseHead()
  var sentByteCount = 0
  /// libcurl had a connection to send the request over, if not the last one that it tried.
  var hadConnection = false
  /// libcurl took the body to its end, for this attempt or an earlier one.
  var hadWholeBody = false
  /// Why a callback refused to go on, which libcurl reports without a reason.
  var refusal: HTTPError?
  private var isPaused = false
  private var deadline: ContinuousClock.Instant?
  private var lastActivity = ContinuousClock.now
  /// What the system took of the body.
  private var acceptedByteCount = 0

  /// - Throws: ``HTTPError`` when a file of the body can't be sent.
  init(
    _ request: HTTPRequest, origin: HTTPOrigin, configuration: CurlTransport.Configuration
  ) throws(HTTPError) {
    self.request = request
    if let segments = request.body.segments {
      source = try BodySource(segments, origin: origin)
    }
    self.origin = origin
    pipe = BodyPipe(limitBytes: configuration.bodyBufferBytes)
    self.configuration = configuration
    deadline = request.timeout.map { lastActivity + $0 }
  }

  var isAbandoned: Bool { abandoned.load(ordering: .acquiring) }

  /// Nobody wants the exchange any more: tells those who wait. From any thread.
  func abandon() {
    abandoned.store(true, ordering: .releasing)
    head.fulfil(.failure(CancellationError()))
    pipe.abandon(CancellationError())
  }

  /// The exchange is over, well without an error. From any thread.
  func end(_ error: HTTPError?) {
    if let error { head.fulfil(.failure(error)) }
    pipe.end(error)
  }

  var shutDown: HTTPError {
    HTTPError(.shutDown, origin: origin, "the exchange was ended with it")
  }
}

/// Time, on the driver's thread.
extension CurlTransfer {
  func noteActivity() {
    lastActivity = .now
  }

  /// libcurl asks for the next bytes of a body only when nearly all of 64 KiB are sent;
  /// this moves before.
  func noteSent(_ byteCount: Int) {
    guard byteCount != acceptedByteCount else { return }
    acceptedByteCount = byteCount
    noteActivity()
  }

  func notePaused() {
    isPaused = true
  }

  func noteResumed() {
    isPaused = false
    noteActivity()
  }

  /// When the transfer runs out of time if nothing moves, and what to say then.
  var timeout: (instant: ContinuousClock.Instant, error: HTTPError)? {
    // Silence that the reader asked for is not the other side's.
    let silence = isPaused ? nil : request.idleTimeout.map { lastActivity + $0 }
    if let deadline, silence.map({ deadline <= $0 }) ?? true {
      let limit = request.timeout ?? .zero
      return (deadline, ended(.timedOut, "not done within \(limit)"))
    }
    guard let silence, let limit = request.idleTimeout else { return nil }
    return (silence, ended(.idleTimeout, "no byte moved for \(limit)"))
  }

  private func ended(_ code: HTTPError.Code, _ detail: String) -> HTTPError {
    var error = HTTPError(code, origin: origin, detail)
    error.isBodyUnsent = isBodyUnsent
    return error
  }
}
#endif
