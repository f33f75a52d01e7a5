#if Server
import Foundation
import TernCore
import TernServer
import Testing

@Suite("HTTP: snapshots", .timeLimit(.minutes(1)))
struct SnapshotAPITests {
  private static let base = "/v1/spaces/home/snapshots"

  private func body(_ offer: [String: Any]) throws -> [UInt8] {
    Array(try JSONSerialization.data(withJSONObject: offer))
  }

  @Test("an offer, its parts and a completion make a snapshot that the greeting tells")
  func upload() async throws {
    try await LiveServer.run { server async throws in
      var ada = Author(1)
      _ = try await server.push(ada.write(count: 2))
      let cursor = try server.service.end()
      let head = [2, Int(ada.time.milliseconds), Int(ada.time.counter)]
      let offer: [String: Any] = [
        "key": "k", "parts": 2, "cursor": cursor.rawValue,
        "heads": [ada.replica.description: head],
      ]
      let begun = try await server.send(
        server.request(Self.base, method: "POST", body: try body(offer)))
      #expect(begun.json["missing"] as? [Int] == [0, 1])
      let parts = try SnapshotOffer(at: cursor, of: [ada]).partsWithoutRows()
      let id = try #require(begun.json["id"] as? String)
      let early = try await server.send(server.request(Self.base + "/\(id)", method: "POST"))
      #expect((early.status, early.problem) == (409, "snapshot-incomplete"))
      for index in [0, 1, 0] {
        let put = try await server.send(
          server.request(Self.base + "/\(id)/parts/\(index)", method: "PUT", body: parts[index]))
        #expect(put.json as? [String: Int] == ["now": 1_000_000])
      }
      let done = try await server.send(server.request(Self.base + "/\(id)", method: "POST"))
      #expect(done.json as? [String: Int] == ["now": 1_000_000])
      let given = try await server.send(server.request(Self.base + "/\(id)/parts/0"))
      #expect(given.header("Content-Type") == "application/octet-stream")
      #expect(Array(given.body) == parts[0])

      let greeting = try await server.send(server.request("/v1/spaces/home"))
      let snapshot = try #require(greeting.json["snapshot"] as? [String: Any])
      #expect(snapshot["id"] as? String == id)
      #expect(snapshot["position"] as? Int == 2)
      #expect(snapshot["parts"] as? Int == 2)
      #expect(snapshot["cursor"] as? String == cursor.rawValue)
      #expect(snapshot["heads"] as? [String: Int] == [ada.replica.description: 2])
      #expect(greeting.json["trimmed"] as? Int == 0)
      #expect(greeting.json["wantsSnapshot"] as? Bool == false)
    }
  }

  @Test(
    "an offer whose heads are none is malformed",
    arguments: [[1, 2], [1, 2, 65_536], [-1, 2, 3]])
  func malformed(head: [Int]) async throws {
    try await LiveServer.run { server async throws in
      let offer: [String: Any] = [
        "key": "k", "parts": 1, "heads": [Author(1).replica.description: head],
      ]
      let answer = try await server.send(
        server.request(Self.base, method: "POST", body: try body(offer)))
      #expect((answer.status, answer.problem) == (400, "malformed"))
    }
  }

  @Test("a part over the limit is refused by its name")
  func tooLarge() async throws {
    var limits = ServerLimits()
    limits.snapshotPartBytes = 2
    try await LiveServer.run(limits: limits) { server async throws in
      let answer = try await server.send(
        server.request(Self.base + "/a/parts/0", method: "PUT", body: [1, 2, 3]))
      #expect((answer.status, answer.problem) == (413, "too-large"))
      #expect((answer.json["detail"] as? String)?.contains("snapshotPartBytes") == true)
    }
  }

  @Test("a server writes leases down by itself, and trims by them")
  func maintenance() async throws {
    var limits = ServerLimits()
    limits.retention = .zero
    try await LiveServer.run(maintenance: .milliseconds(10), limits: limits) {
      server async throws in
      var ada = Author(1)
      _ = try await server.push(ada.write(count: 2))
      let end = try server.service.end()
      let bob = Author(2).replica
      func pull(_ cursor: RemoteCursor?) async throws {
        let after = cursor.map { "&after=\($0.rawValue)" } ?? ""
        let path = "/v1/spaces/home/operations?excluding=\(bob)" + after
        #expect(try await server.send(server.request(path)).status == 200)
      }
      try await pull(nil)
      try server.service.upload(SnapshotOffer(at: end, of: [ada]))
      #expect(try server.service.greet(.home).trimmed == 0)
      try await pull(end)
      // The time limit of the suite ends this if nobody maintains the space.
      while try server.service.greet(.home).trimmed < 2 { await Task.yield() }
      #expect(try server.service.store.lease(of: bob, in: .home)?.position == 2)
    }
  }
}
#endif
