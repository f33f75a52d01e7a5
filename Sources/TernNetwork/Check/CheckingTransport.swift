import Synchronization
import TernCore

/// A transport that tells the network's source what became of its requests, so that a wrong word of
/// the system's about the network doesn't last.
///
/// ```swift
/// let path = SystemPath.shared
/// let transport = CheckingTransport(
///   over: SystemTransport.shared, correcting: path,
///   probe: ServerProbe("https://sync.example.org/health"))
/// ```
///
/// - An answer while there is said to be no route corrects that. Over plain HTTP, where a portal
///   could have given it, the probe has to say the same.
/// - A failure on the way, while there is said to be a route, has the app's own server asked. When
///   nobody answers, there is no route until the system says otherwise or a request gets through;
///   when somebody else does, it is a portal's: ``NetworkPath/isCaptive``. The failed request is
///   thrown after that, so that whoever looks at the path then knows.
/// - The server is asked for nothing else, once for all that fail at the same time, and again at
///   the earliest 30 seconds later in the same network. It is not asked while anybody has answered
///   over TLS there in the last 30 seconds, unless a certificate could not be trusted: a portal may
///   have begun to stand in the way. Nothing happens while all goes well, nor without a probe.
/// - Requests to this machine say nothing of the network.
public final class CheckingTransport: HTTPTransport {
  private let base: any HTTPTransport
  private let source: any CorrectablePathSource
  private let probe: ServerProbe?
  private let check: PathCheck
  private let now: @Sendable () -> ContinuousClock.Instant
  /// Where and when somebody last answered over TLS: one server that nobody reaches is not the
  /// network.
  private let proof = Mutex<(generation: UInt64, at: ContinuousClock.Instant)?>(nil)

  /// - Parameter probe: what is asked when a request fails; without one only answers
  ///   correct the path.
  public convenience init(
    over base: any HTTPTransport, correcting source: any CorrectablePathSource,
    probe: ServerProbe?
  ) {
    self.init(over: base, correcting: source, probe: probe, now: { .now })
  }

  package init(
    over base: any HTTPTransport, correcting source: any CorrectablePathSource,
    probe: ServerProbe?, now: @escaping @Sendable () -> ContinuousClock.Instant
  ) {
    (self.base, self.source, self.probe, self.now) = (base, source, probe, now)
    check = PathCheck(now: now)
  }

  public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    guard let origin = try? HTTPOrigin(of: request.url), !origin.isLoopback else {
      return try await base.send(request)
    }
    let before = source.path
    do {
      let answer = try await base.send(request)
      await believe(origin, askedOn: before)
      return HTTPResponse(
        status: answer.status, headers: answer.headers, body: watched(answer.body))
    } catch let error as HTTPError where before.hasRoute && error.isOnTheWay {
      await doubt(before, after: error)
      throw error
    }
  }

  public func shutdown() async {
    await base.shutdown()
  }

  /// A body that breaks off says what a request does that fails.
  private func watched(_ body: HTTPBody) -> HTTPBody {
    HTTPBody { [self] in
      var chunks = body.makeAsyncIterator()
      do {
        return try await chunks.next()
      } catch let error as HTTPError where error.isOnTheWay {
        let path = source.path
        if path.hasRoute { await doubt(path, after: error) }
        throw error
      }
    }
  }

  private func believe(_ origin: HTTPOrigin, askedOn before: NetworkPath) async {
    if Planted.isActive(.answerNotBelieved) { return }
    let path = source.path
    if origin.scheme == "https" {
      // A connection can outlive its network, and answer in the next one.
      proof.withLock { $0 = (before.generation, now()) }
      if !path.hasRoute { source.correct(path.generation, hasRoute: true, isCaptive: false) }
    } else if !path.hasRoute {
      if let probe {
        guard await begin(path) else { return }
        let verdict = await probe.ask(over: base)
        if verdict == .reached {
          source.correct(path.generation, hasRoute: true, isCaptive: false)
        }
        end(path, verdict)
      } else if !path.isCaptive {
        source.correct(path.generation, hasRoute: true, isCaptive: false)
      }
    }
  }

  private func doubt(_ path: NetworkPath, after error: HTTPError) async {
    guard let probe, error.code == .tls || !isProven(path), await begin(path) else { return }
    let verdict = await probe.ask(over: base)
    switch verdict {
    case .captive: source.correct(path.generation, hasRoute: false, isCaptive: true)
    case .silent: source.correct(path.generation, hasRoute: false, isCaptive: false)
    case .reached, .unknown: break
    }
    end(path, verdict)
  }

  private func isProven(_ path: NetworkPath) -> Bool {
    guard let proof = proof.withLock({ $0 }) else { return false }
    return proof.generation == path.generation && now() - proof.at < PathCheck.pause
  }

  private func begin(_ path: NetworkPath) async -> Bool {
    await check.begin(path.generation) { [source] in source.path == path }
  }

  private func end(_ path: NetworkPath, _ verdict: ServerProbe.Verdict) {
    // Whoever was cancelled has learned nothing, and another one asks.
    let isOpen = verdict == .unknown && Task.isCancelled
    check.end(path.generation, isSettled: !isOpen)
  }
}

extension HTTPError {
  /// The network may be the reason.
  fileprivate var isOnTheWay: Bool {
    switch code {
    case .unresolvedHost, .unreachable, .connectTimeout, .connectionLost, .idleTimeout,
      .timedOut, .tls, .invalidAnswer:
      true
    default: false
    }
  }
}
