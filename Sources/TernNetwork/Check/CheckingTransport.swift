import TernCore

/// A transport that tells the network's source what became of its requests, so that a wrong word of the
/// system's about the network doesn't last.
///
/// ```swift
/// let path = SystemPath.shared
/// let transport = CheckingTransport(
///   over: SystemTransport.shared, correcting: path, probe: ServerProbe("https://sync.example.org/health"))
/// ```
///
/// - An answer while there is said to be no route corrects that. Over plain HTTP, where a portal could have
///   given it, the probe has to say the same.
/// - A failure on the way, while there is said to be a route, has the app's own server asked. When nobody
///   answers, there is no route until the system says otherwise or a request gets through; when somebody else
///   does, it is a portal's: ``TernCore/NetworkPath/isCaptive``. The failed request is thrown after that, so
///   that whoever looks at the path then knows.
/// - The server is asked for nothing else, once for all that fail at the same time, and again at the earliest
///   30 seconds after it answered. Nothing happens while all goes well, nor without a probe.
/// - Requests to this machine say nothing of the network.
public final class CheckingTransport: HTTPTransport {
  private let base: any HTTPTransport
  private let source: any CorrectablePathSource
  private let probe: ServerProbe?
  private let check: PathCheck

  /// - Parameter now: for tests.
  public init(
    over base: any HTTPTransport, correcting source: any CorrectablePathSource,
    probe: ServerProbe?, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    (self.base, self.source, self.probe) = (base, source, probe)
    check = PathCheck(now: now)
  }

  public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    guard let origin = try? Origin(of: request.url), !origin.isLoopback else {
      return try await base.send(request)
    }
    let before = source.path
    do {
      let answer = try await base.send(request)
      if !before.hasRoute { await believe(origin, before) }
      return answer
    } catch let error as HTTPError where before.hasRoute && error.isOnTheWay {
      await doubt(before)
      throw error
    }
  }

  public func shutdown() async {
    await base.shutdown()
  }

  private func believe(_ origin: Origin, _ path: NetworkPath) async {
    var isProven = origin.scheme == "https" || (probe == nil && !path.isCaptive)
    if !isProven, let probe { isProven = await probe.ask(over: base) == .reached }
    if isProven { source.correct(path.generation, hasRoute: true, isCaptive: false) }
  }

  private func doubt(_ path: NetworkPath) async {
    guard let probe, source.path == path, await check.begin(path.generation) else { return }
    let verdict = await probe.ask(over: base)
    switch verdict {
    case .captive: source.correct(path.generation, hasRoute: false, isCaptive: true)
    case .silent: source.correct(path.generation, hasRoute: false, isCaptive: false)
    case .reached, .unknown: break
    }
    check.end(path.generation, isReached: verdict == .reached)
  }
}

extension HTTPError {
  /// The network may be the reason.
  fileprivate var isOnTheWay: Bool {
    switch code {
    case .unresolvedHost, .unreachable, .connectTimeout, .connectionLost, .idleTimeout, .tls,
      .invalidAnswer:
      true
    default: false
    }
  }
}
