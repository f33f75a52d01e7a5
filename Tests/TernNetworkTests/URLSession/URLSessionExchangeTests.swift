#if os(Linux) && Rehearsal
import Foundation
import FoundationNetworking
import Testing

@testable import TernNetwork

@Suite("URLSession: what URLSession reports of one task")
struct URLSessionExchangeTests {
  @Test("an answer that is begun anew ends as lost, and is never its beginning twice")
  func begunAnew() async throws {
    let origin = try HTTPRequest(.get, "http://127.0.0.1/").validated()
    let exchange = URLSessionExchange(origin: origin, bodyBufferBytes: 100, upload: nil)
    exchange.receive(ResponseHead(status: 200, headers: [:]))
    exchange.receive(Data([1, 2]))
    #expect(try await exchange.head.wait {}.status == 200)
    #expect(try await exchange.pipe.read {} == [1, 2])
    exchange.receive(ResponseHead(status: 200, headers: [:]))
    exchange.receive(Data([1, 2, 3]))
    exchange.end(nil)
    let error = await failure(HTTPError.self) { _ = try await exchange.pipe.read {} }
    #expect(error?.code == .connectionLost)
  }

  @Test("shutting down waits until the session lets go of who listens to it")
  func invalidation() async {
    for _ in 0..<100 {
      let transport = URLSessionTransport()
      async let other: Void = transport.shutdown()
      await transport.shutdown()
      #expect(transport.events.isInvalidated)
      await other
    }
  }

  @Test("a session is not ended between the look at it and the task that is made in it")
  func closing() async throws {
    let request = HTTPRequest(.get, "http://127.0.0.1/")
    let exchange = URLSessionExchange(
      origin: try request.validated(), bodyBufferBytes: 100, upload: nil)
    let (events, session) = (URLSessionEvents(), URLSession(configuration: .ephemeral))
    let url = try #require(URL(string: request.url))
    let (isClosed, closed) = (DispatchSemaphore(value: 0), Signal())
    var wasClosedMeanwhile = true
    let task = events.add(exchange) {
      let thread = Thread {
        _ = events.close()
        isClosed.signal()
        closed.fire()
      }
      thread.start()
      // real time: nothing tells of a lock that somebody else waits for.
      wasClosedMeanwhile = isClosed.wait(timeout: .now() + .milliseconds(200)) == .success
      return session.dataTask(with: url)
    }
    #expect(task != nil)
    #expect(!wasClosedMeanwhile)
    await closed.wait()
    #expect(events.add(exchange) { session.dataTask(with: url) } == nil)
    session.invalidateAndCancel()
  }
}
#endif
