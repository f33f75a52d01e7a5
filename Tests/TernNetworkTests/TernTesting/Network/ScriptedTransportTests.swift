import TernNetwork
import TernTesting
import Testing

@Suite("Network: a transport whose answers a test gives")
struct ScriptedTransportTests {
  @Test("it remembers what was asked, and refuses everything once it was shut down")
  func script() async throws {
    let transport = ScriptedTransport { request in
      guard request.method == .get else { throw HTTPError(.connectionLost, origin: nil, "cut") }
      return HTTPResponse(status: 204)
    }
    let read = HTTPRequest(.get, "https://example.org/a")
    #expect(try await transport.send(read).status == 204)
    let write = HTTPRequest(.put, "https://example.org/b")
    let lost = await #expect(throws: HTTPError.self) { try await transport.send(write) }
    #expect(lost?.code == .connectionLost)
    await transport.shutdown()
    await transport.shutdown()
    let refused = await #expect(throws: HTTPError.self) { try await transport.send(read) }
    #expect(refused?.code == .shutDown)
    #expect(transport.requests.map(\.url) == [read.url, write.url])
  }
}
