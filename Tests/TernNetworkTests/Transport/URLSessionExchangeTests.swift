#if os(Linux) && Rehearsal
import Foundation
import Testing

@testable import TernNetwork

@Suite("What URLSession reports of one task")
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
}
#endif
