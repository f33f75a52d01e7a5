#if os(Linux)
import Synchronization
import TernCore
import TernJobs
import TernTesting
import Testing

@testable import TernNetwork

/// Real servers stand where the app's own should be. What goes to this machine by its name says nothing of the
/// network, so that requests go to 0.0.0.0, by which Linux reaches itself as well.
@Suite("Check: a captive portal is told by what it answers", .timeLimit(.minutes(1)))
struct PortalTests {
  private let source = ScriptedPathSource()

  enum Portal: CaseIterable {
    case redirect, page
  }

  @Test(
    "one that answers in the server's place, until it lets the server answer",
    arguments: Portal.allCases)
  func http(portal: Portal) async throws {
    let isOpen = Mutex(false)
    let now = Mutex(ContinuousClock.now)
    let page = Array("<h1>Welcome</h1>".utf8)
    let elsewhere = try LocalServer { connection in
      while connection.readRequest() != nil { connection.answer(body: page) }
    }
    let server = try LocalServer { connection in
      while let request = connection.readRequest() {
        // Nobody answers that one, with a portal and without.
        if request.line.contains("/lost") { return }
        if isOpen.withLock({ $0 }) {
          connection.answer(request.line.contains("/health") ? 204 : 200)
        } else if portal == .redirect {
          connection.answer(302, "Location: \(elsewhere.url)/login\r\n")
        } else {
          connection.answer(200, "Content-Type: text/html\r\n", body: page)
        }
      }
    }
    defer {
      elsewhere.stop()
      server.stop()
    }
    let transport = CheckingTransport(
      over: CurlTransport(), correcting: source,
      probe: ServerProbe(server.url + "/health", status: 204, timeout: .seconds(20)),
      now: { now.withLock { $0 } })
    func send(_ path: String) async -> HTTPError? {
      await transport.error(of: HTTPRequest(.get, "http://0.0.0.0:\(server.port)\(path)"))
    }
    let captive = NetworkPath(hasRoute: false, generation: 1, isCaptive: true, isDoubted: true)
    #expect(await send("/lost")?.code == .connectionLost)
    #expect(source.path == captive)
    // What the portal says to a request of the app's is no proof.
    #expect(await send("/work") == nil)
    #expect(source.path == captive)
    isOpen.withLock { $0 = true }
    now.withLock { $0 += .seconds(30) }
    #expect(await send("/work") == nil)
    #expect(source.path == NetworkPath(hasRoute: true, generation: 2))
    // The same failure as at first, and now it says nothing.
    now.withLock { $0 += .seconds(30) }
    #expect(await send("/lost")?.code == .connectionLost)
    #expect(source.path == NetworkPath(hasRoute: true, generation: 2))
    #expect(elsewhere.connectionCount == 0)
  }

  @Test("one that can't show the server's certificate, and the server that can")
  func tls() async throws {
    let authority = try Authority()
    let server = try SecureServer(certificate: authority.certificate(for: "IP:127.0.0.1"))
    for isOwn in [false, true] {
      let before = source.path
      var configuration = CurlTransport.Configuration()
      if isOwn { configuration.authoritiesFile = authority.file }
      let transport = CheckingTransport(
        over: CurlTransport(configuration), correcting: source,
        probe: ServerProbe(server.url, timeout: .seconds(20)))
      // Its certificate is for 127.0.0.1 alone, whoever it is.
      let url = server.url.replacing("127.0.0.1", with: "0.0.0.0")
      let error = try #require(await transport.error(of: HTTPRequest(.get, url)))
      #expect(error.code == .tls)
      #expect(source.path.isCaptive == !isOwn)
      #expect(source.path.hasRoute == isOwn)
      // Of a job's attempts the portal costs none.
      var life = JobLife(state: .running)
      _ = life.handle(
        .failed(error.advice, JobLife.Circumstances(pathBefore: before, pathAfter: source.path)))
      #expect(life.failures == (isOwn ? 1 : 0))
      source.set(hasRoute: true)
    }
  }
}
#endif
