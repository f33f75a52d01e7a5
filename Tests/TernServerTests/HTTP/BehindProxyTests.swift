#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer

/// A server behind nginx as Debian has it, with its default of buffering what it passes on.
@Suite(
  "HTTP: behind nginx", .timeLimit(.minutes(1)),
  .enabled(if: Nginx.isThere, "script/test installs nginx"))
struct BehindProxyTests {
  @Test func `events come through as they happen, and pushes too`() async throws {
    try await LiveServer.run { server async throws in
      try await Nginx.run(before: server) { port in
        let proxied = LiveServer(
          service: server.service, port: port, token: server.token, group: server.group,
          application: server.application, adminPort: nil)
        var events = EventReader(proxied.request("/v1/spaces/home/events"))
        #expect(try await events.next()?.contains("id: 0") == true)
        var ada = Author(1)
        #expect(try await proxied.push(ada.write(count: 2)).status == 200)
        // Long before a sign of life would fill anything.
        #expect(try await events.next()?.contains("id: 2") == true)
        let page = try await proxied.send(proxied.request("/v1/spaces/home/operations"))
        #expect(try OperationBatch(encoded: Array(page.body)).operations.count == 2)
        events.cancel()
      }
    }
  }

  @Test func `a stream says that it is not to be buffered`() async throws {
    try await LiveServer.run { server async throws in
      let client = try RawClient(server)
      #expect(await client.send(server.head("GET", "/v1/spaces/home/events")))
      #expect(await client.head().text.lowercased().contains("x-accel-buffering: no"))
    }
  }
}
#endif
