#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer

@Suite("HTTP: one tenant beside others", .timeLimit(.minutes(1)))
struct FairnessTests {
  private static let type = "Content-Type: application/vnd.tern.batch\r\n"

  /// Against a server whose writes wait at a gate; `work` has a token of its own.
  private func run(
    limits: ServerLimits = .init(), _ body: (LiveServer, Gate, _ work: String) async throws -> Void
  ) async throws {
    var generator = SeededGenerator(state: 12)
    let gate = Gate()
    let store = FailingStore(MemorySpaceStore(using: &generator)) { gate.pass($0) }
    try await LiveServer.run(limits: limits, store: store) { server async throws in
      let other = try server.service.createToken(for: .work, using: &generator)
      try await body(server, gate, other)
    }
  }

  /// A push on a connection of its own; its answer is not waited for.
  private func push(
    _ operations: [SyncOperation], to server: LiveServer, _ space: String = "home",
    token: String? = nil
  ) async throws -> RawClient {
    let client = try RawClient(server)
    let body = OperationBatch(operations).encoded()
    var head = server.head(
      "POST", "/v1/spaces/\(space)/operations", Self.type + "Content-Length: \(body.count)\r\n")
    if let token { head = head.replacing(server.token, with: token) }
    #expect(await client.send(Array(head.utf8) + body))
    return client
  }

  @Test("a space with 64 pushes that wait delays another's by one transaction at most")
  func turns() async throws {
    try await run { server, gate, work in
      gate.close()
      var clients: [RawClient] = []
      for number in 1...64 {
        var author = Author(UInt64(number))
        clients.append(try await push([author.write()], to: server))
      }
      let queue = server.application.queue
      while gate.spaces.isEmpty { await Task.yield() }
      while queue.waitingWrites + queue.waitingBodies < 63 { await Task.yield() }
      var victim = Author(100)
      let waiting = queue.waitingWrites
      let other = try await push([victim.write()], to: server, "work", token: work)
      while queue.waitingWrites == waiting { await Task.yield() }
      gate.open()
      #expect(await other.head().status == 200)
      for client in clients { #expect(await client.head().status == 200) }
      #expect(Array(gate.spaces.prefix(2)) == [.home, .work])
      #expect(gate.spaces.count == 65)
    }
  }

  @Test("a body is unpacked and looked at before its turn to write")
  func unpacking() async throws {
    try await run { server, gate, work in
      gate.close()
      var ada = Author(1)
      let client = try await push([ada.write()], to: server)
      while gate.spaces.isEmpty { await Task.yield() }
      for body in [[1, 2], Array("TRN9".utf8)] as [[UInt8]] {
        let push = server.request(
          "/v1/spaces/work/operations", method: "POST", token: work,
          type: "application/vnd.tern.batch", body: body)
        #expect(try await server.send(push).status == 400)
      }
      gate.open()
      #expect(await client.head().status == 200)
    }
  }

  @Test("what a space has waiting beyond the limit is refused by its name")
  func waiting() async throws {
    var limits = ServerLimits()
    limits.waitingPerSpace = 2
    try await run(limits: limits) { server, gate, _ in
      gate.close()
      // More than any processors unpack, and the two lines hold.
      var clients: [RawClient] = []
      for number in 1...12 {
        var author = Author(UInt64(number))
        clients.append(try await push([author.write()], to: server))
      }
      var author = Author(100)
      let last = server.request(
        "/v1/spaces/home/operations", method: "POST", type: "application/vnd.tern.batch",
        body: OperationBatch([author.write()]).encoded())
      while server.application.queue.waitingBodies < 2 { await Task.yield() }
      let refused = try await server.send(last)
      #expect((refused.status, refused.problem) == (503, "unavailable"))
      #expect(refused.header("Retry-After") == "1")
      #expect((refused.json["detail"] as? String)?.contains("waitingPerSpace") == true)
      gate.open()
      for client in clients { #expect([200, 503].contains(await client.head().status)) }
      #expect(try await server.send(last).status == 200)
    }
  }

  @Test("requests with one token beyond the limit are refused, and others are answered")
  func requests() async throws {
    var limits = ServerLimits()
    limits.requestsPerToken = 2
    try await run(limits: limits) { server, _, work in
      let head = server.head(
        "POST", "/v1/spaces/home/operations", Self.type + "Content-Length: 100\r\n")
      let clients = [try RawClient(server), try RawClient(server)]
      for client in clients { #expect(await client.send(head + "x")) }
      while server.application.received.used < 2 { await Task.yield() }
      let refused = try await server.send(server.request("/v1/spaces/home"))
      #expect((refused.status, refused.problem) == (429, "unavailable"))
      #expect(refused.header("Retry-After") == "1")
      #expect((refused.json["detail"] as? String)?.contains("requestsPerToken") == true)
      let other = server.request("/v1/spaces/work", token: work)
      #expect(try await server.send(other).status == 200)
      for client in clients {
        client.end()
      }
      while server.application.received.used > 0 { await Task.yield() }
      // The count goes after the bytes.
      while try await server.send(server.request("/v1/spaces/home")).status != 200 {}
    }
  }
}
#endif
