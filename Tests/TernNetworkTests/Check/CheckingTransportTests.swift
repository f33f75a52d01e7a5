import Synchronization
import TernCore
import TernJobs
import TernTesting
import Testing

@testable import TernNetwork

/// The app asks one service, and in doubt its own server.
private let service = "https://service.example.org/work"
private let own = "http://own.example.org/health"

@Suite(
  "Check: what became of requests corrects what the system says of the network",
  .timeLimit(.minutes(1)))
struct CheckingTransportTests {
  private let source = ScriptedPathSource()

  private func transport(
    probe: String? = own, _ answer: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse
  ) -> (CheckingTransport, ScriptedTransport) {
    let base = ScriptedTransport(answer)
    let checking = CheckingTransport(
      over: base, correcting: source, probe: probe.map { ServerProbe($0, status: 204) })
    return (checking, base)
  }

  private static func fail(_ code: HTTPError.Code) -> HTTPError {
    HTTPError(code, origin: nil, "for a test")
  }

  @Test(
    "an error while there is a route: nobody answers, a portal does, or the server does",
    arguments: [
      (Result<Int, HTTPError>.failure(fail(.unresolvedHost)), false, false),
      (.failure(fail(.timedOut)), false, false),
      (.failure(fail(.connectTimeout)), false, false),
      (.success(302), false, true), (.success(200), false, true), (.success(511), false, true),
      (.failure(fail(.tls)), false, true), (.success(204), true, false),
      (.success(503), true, false), (.failure(fail(.connectionRefused)), true, false),
    ])
  func error(probed: Result<Int, HTTPError>, hasRoute: Bool, isCaptive: Bool) async throws {
    let (transport, base) = transport { request in
      guard request.url == own else { throw Self.fail(.connectionLost) }
      return HTTPResponse(status: try probed.get())
    }
    let before = source.path
    let error = await transport.error(of: HTTPRequest(.get, service))
    // The failure is the request's own, whatever was found out.
    #expect(error?.code == .connectionLost)
    #expect(source.path.hasRoute == hasRoute)
    #expect(source.path.isCaptive == isCaptive)
    #expect((source.path.generation == before.generation) == hasRoute)
    #expect(base.requests.map(\.url) == [service, own])
  }

  @Test(
    "over TLS nobody else can answer, so that every answer is the server's", arguments: [200, 302])
  func secure(status: Int) async throws {
    let (transport, _) = transport(probe: "https://own.example.org/health") { request in
      guard request.url != service else { throw Self.fail(.unreachable) }
      return HTTPResponse(status: status)
    }
    _ = await transport.error(of: HTTPRequest(.get, service))
    #expect(source.path.hasRoute)
  }

  @Test("a portal that can't show the server's certificate costs a job no attempt")
  func portal() async throws {
    let (transport, _) = transport { _ in throw Self.fail(.tls) }
    let before = source.path
    let error = try #require(await transport.error(of: HTTPRequest(.get, service)))
    #expect(source.path.isCaptive)
    var life = JobLife(state: .running)
    _ = life.handle(
      .failed(error.advice, JobLife.Circumstances(pathBefore: before, pathAfter: source.path)))
    #expect(life.state == .waiting && life.failures == 0)
  }

  @Test("an answer while there is no route brings it back, and a portal's over HTTP doesn't")
  func answer() async throws {
    source.set(hasRoute: false)
    let portal = transport { _ in HTTPResponse(status: 200) }.0
    _ = try await portal.send(HTTPRequest(.get, "http://service.example.org/work"))
    #expect(!source.path.hasRoute)
    let before = source.path.generation
    _ = try await portal.send(HTTPRequest(.get, service))
    #expect(source.path == NetworkPath(hasRoute: true, generation: before + 1))

    source.correct(before + 1, hasRoute: false, isCaptive: true)
    #expect(source.path.isCaptive)
    let alone = transport(probe: nil) { _ in HTTPResponse(status: 200) }.0
    _ = try await alone.send(HTTPRequest(.get, "http://service.example.org/work"))
    #expect(source.path.isCaptive)
    let good = transport { HTTPResponse(status: $0.url == own ? 204 : 200) }.0
    _ = try await good.send(HTTPRequest(.get, "http://service.example.org/work"))
    #expect(source.path.hasRoute && !source.path.isCaptive)
  }

  @Test("an answer to a request that began with a route brings back one that was lost meanwhile")
  func late() async throws {
    let transport = transport { [source] _ in
      source.set(hasRoute: false)
      return HTTPResponse(status: 201)
    }.0
    _ = try await transport.send(HTTPRequest(.post, service))
    #expect(source.path == NetworkPath(hasRoute: true, generation: 2))
  }

  @Test("a body that breaks off has the server asked, as a request does that fails")
  func body() async throws {
    let (transport, base) = transport { request in
      guard request.url != own else { throw Self.fail(.unresolvedHost) }
      return HTTPResponse(status: 200, body: HTTPBody { throw Self.fail(.idleTimeout) })
    }
    // Over HTTP, whose answer proves nothing.
    let answer = try await transport.send(HTTPRequest(.get, "http://service.example.org/events"))
    #expect(source.path.hasRoute)
    let error = await failure(HTTPError.self) { _ = try await answer.body.collect(limit: 1) }
    #expect(error?.code == .idleTimeout)
    #expect(!source.path.hasRoute && base.requests.count == 2)
  }

  @Test("one server that nobody reaches is not the network while another one answers")
  func other() async throws {
    let now = Mutex(ContinuousClock.now)
    let base = ScriptedTransport { request in
      guard request.url == service else { throw Self.fail(.unresolvedHost) }
      return HTTPResponse(status: 200)
    }
    let transport = CheckingTransport(
      over: base, correcting: source, probe: ServerProbe(own), now: { now.withLock { $0 } })
    let dead = HTTPRequest(.get, "https://own.example.org/sync")
    _ = try await transport.send(HTTPRequest(.get, service))
    now.withLock { $0 += .seconds(29) }
    _ = await transport.error(of: dead)
    #expect(source.path == NetworkPath(hasRoute: true, generation: 0))
    #expect(!base.requests.contains { $0.url == own })
    now.withLock { $0 += .seconds(1) }
    _ = await transport.error(of: dead)
    #expect(!source.path.hasRoute)
  }

  @Test("an answer says nothing of a certificate, nor of the next network")
  func behind() async throws {
    let isPortal = Mutex(false)
    let (transport, base) = transport { request in
      if isPortal.withLock({ $0 }) { throw Self.fail(.tls) }
      if request.url == own { throw Self.fail(.unresolvedHost) }
      if request.url != service { throw Self.fail(.connectionLost) }
      return HTTPResponse(status: 200)
    }
    let lost = HTTPRequest(.get, "https://lost.example.org/")
    _ = try await transport.send(HTTPRequest(.get, service))
    _ = await transport.error(of: lost)
    #expect(source.path.hasRoute && !base.requests.contains { $0.url == own })
    source.set(hasRoute: true)
    _ = await transport.error(of: lost)
    #expect(!source.path.hasRoute)
    source.set(hasRoute: true)
    _ = try await transport.send(HTTPRequest(.get, service))
    isPortal.withLock { $0 = true }
    _ = await transport.error(of: HTTPRequest(.get, service))
    #expect(source.path.isCaptive)
  }

  @Test("a connection that outlives its network says nothing of the next one")
  func outlived() async throws {
    let transport = transport { [source] request in
      guard request.url == service else { throw Self.fail(.unresolvedHost) }
      source.set(hasRoute: true)
      return HTTPResponse(status: 200)
    }.0
    _ = try await transport.send(HTTPRequest(.get, service))
    _ = await transport.error(of: HTTPRequest(.get, "https://lost.example.org/"))
    #expect(!source.path.hasRoute)
  }

  @Test("nobody is asked while all goes well, where it doesn't matter, and for this machine")
  func quiet() async throws {
    let (transport, base) = transport { request in
      switch request.url {
      case service: return HTTPResponse(status: 500)
      case "https://refused.example.org/": throw Self.fail(.connectionRefused)
      default: throw Self.fail(.connectionLost)
      }
    }
    #expect(try await transport.send(HTTPRequest(.get, service)).status == 500)
    for url in ["https://refused.example.org/", "http://127.0.0.1:1/", "http://[::1]:1/"] {
      _ = await transport.error(of: HTTPRequest(.get, url))
    }
    source.set(hasRoute: false)
    _ = await transport.error(of: HTTPRequest(.get, "https://lost.example.org/"))
    #expect(!base.requests.contains { $0.url == own })
  }

  @Test("what was found out in another network changes nothing")
  func past() async throws {
    let (transport, base) = transport { [source] request in
      // The network changes while the request is under way, or while the server is asked.
      if request.url != "https://early.example.org/" || request.url == own {
        source.set(hasRoute: true)
      }
      throw Self.fail(.unreachable)
    }
    _ = await transport.error(of: HTTPRequest(.get, service))
    #expect(source.path == NetworkPath(hasRoute: true, generation: 1))
    #expect(base.requests.count == 1)
    _ = await transport.error(of: HTTPRequest(.get, "https://early.example.org/"))
    #expect(base.requests.count == 3)
    #expect(source.path == NetworkPath(hasRoute: true, generation: 2))
  }

  @Test(
    "50 that fail at once ask once, know of it, and ask no more until 30 seconds after an answer")
  func together() async throws {
    let probes = Mutex(0)
    let isOut = Mutex(false)
    let now = Mutex(ContinuousClock.now)
    let base = HeldTransport { request in
      guard request.url == own else { throw Self.fail(.unreachable) }
      probes.withLock { $0 += 1 }
      if isOut.withLock({ $0 }) { throw Self.fail(.unresolvedHost) }
      return HTTPResponse(status: 204)
    }
    let transport = CheckingTransport(
      over: base, correcting: source, probe: ServerProbe(own, status: 204),
      now: { now.withLock { $0 } })
    func all() async -> [Bool] {
      await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<50 {
          group.addTask {
            _ = await transport.error(of: HTTPRequest(.get, service))
            return source.path.hasRoute
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
    }
    #expect(await all().allSatisfy { $0 })
    #expect(probes.withLock { $0 } == 1)
    now.withLock { $0 += .seconds(29) }
    #expect(await all().allSatisfy { $0 })
    #expect(probes.withLock { $0 } == 1)
    now.withLock { $0 += .seconds(1) }
    isOut.withLock { $0 = true }
    // Everybody who failed looks at the path after the answer, and not before.
    #expect(await all().allSatisfy { !$0 })
    #expect(probes.withLock { $0 } == 2)
    #expect(source.path.generation == 1)
  }

  @Test("one that is cancelled while another asks doesn't wait")
  func cancelled() async throws {
    let check = PathCheck(now: { .now })
    #expect(await check.begin(0) { true })
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await check.begin(0) { true }
    }
    #expect(await task.value == false)
    let later = Task { await check.begin(0) { true } }
    later.cancel()
    #expect(await later.value == false)
    // Who asks is cancelled, and one of those that wait asks.
    let waiting = Task { await check.begin(0) { true } }
    check.end(0, isSettled: false)
    #expect(await waiting.value)
    // Somebody who doubts a path that is no more has nothing to ask.
    #expect(await !check.begin(1) { false })
    let next = Task { await check.begin(0) { true } }
    check.end(0, isSettled: true)
    #expect(await !next.value)
  }
}

/// Answers only when all who are there have asked, as far as tasks can be told apart.
private struct HeldTransport: HTTPTransport {
  let answer: @Sendable (HTTPRequest) throws -> HTTPResponse

  init(_ answer: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse) {
    self.answer = answer
  }

  func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    for _ in 0..<200 { await Task.yield() }
    return try answer(request)
  }

  func shutdown() async {}
}
