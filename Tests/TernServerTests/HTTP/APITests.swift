#if Server
import Foundation
import TernCore
import TernServer
import Testing

@Suite("HTTP: greeting, push and pull")
struct APITests {
  @Test("health needs no token")
  func health() async throws {
    try await LiveServer.run { server async throws in
      let answer = try await server.send(server.request("/health", token: nil))
      #expect(answer.status == 200)
      #expect(answer.json as? [String: String] == ["status": "ok"])
    }
  }

  @Test("the greeting tells epoch, clock, position and heads")
  func greeting() async throws {
    try await LiveServer.run { server async throws in
      var ada = Author(1)
      _ = try await server.push(ada.write(count: 3))
      let answer = try await server.send(server.request("/v1/spaces/home"))
      #expect(answer.status == 200)
      #expect(answer.header("Content-Type") == "application/json")
      #expect(answer.json["epoch"] as? String == server.service.store.epoch)
      #expect(answer.json["now"] as? Int == 1_000_000)
      #expect(answer.json["position"] as? Int == 3)
      #expect(answer.json["heads"] as? [String: Int] == [ada.replica.description: 3])
    }
  }

  @Test("a push is acknowledged with position, count and clock")
  func push() async throws {
    try await LiveServer.run { server async throws in
      var ada = Author(1)
      let operations = ada.write(count: 2)
      let answer = try await server.push(operations)
      #expect(answer.status == 200)
      #expect(
        answer.json as? [String: Int] == ["now": 1_000_000, "position": 2, "accepted": 2])
      let again = try await server.push(operations)
      #expect(again.json["accepted"] as? Int == 0)
    }
  }

  @Test("pulling page after page gives every operation, byte for byte")
  func pull() async throws {
    var limits = ServerLimits()
    limits.pageOperations = 2
    try await LiveServer.run(limits: limits) { server async throws in
      var ada = Author(1)
      let operations = ada.write(count: 5, bytes: 50)
      _ = try await server.push(operations)
      var pulled: [SyncOperation] = []
      var (query, more) = ("", "1")
      while more == "1" {
        let answer = try await server.send(
          server.request("/v1/spaces/home/operations" + query))
        #expect(answer.status == 200)
        #expect(answer.header("Content-Type") == "application/vnd.tern.batch")
        #expect(answer.header("Tern-Now") == "1000000")
        pulled += try OperationBatch(encoded: Array(answer.body)).operations
        let cursor = try #require(answer.header("Tern-Cursor"))
        more = try #require(answer.header("Tern-More"))
        query = "?after=\(cursor)"
      }
      #expect(more == "0")
      #expect(pulled == operations)
    }
  }

  @Test("a body of exactly the limit is read, one byte more is too large")
  func bodyBytes() async throws {
    var ada = Author(1)
    let operations = [ada.write("small")]
    var limits = ServerLimits()
    limits.bodyBytes = OperationBatch(operations).encoded().count
    try await LiveServer.run(limits: limits) { server async throws in
      #expect(try await server.push(operations).status == 200)
      let answer = try await server.push([ada.write("small!")])
      #expect(answer.status == 413)
      #expect(answer.problem == "too-large")
      #expect((answer.json["detail"] as? String)?.contains("bodyBytes") == true)
    }
  }

  @Test("a body that doesn't fit beside the others is put off")
  func bodyBytesInFlight() async throws {
    var limits = ServerLimits()
    limits.bodyBytesInFlight = 1
    try await LiveServer.run(limits: limits) { server async throws in
      var ada = Author(1)
      let answer = try await server.push(ada.write(count: 1))
      #expect(answer.status == 503)
      #expect(answer.problem == "unavailable")
      #expect(answer.header("Retry-After") == "1")
    }
  }

  @Test("the token's scheme is named in any case")
  func scheme() async throws {
    try await LiveServer.run { server async throws in
      var request = server.request("/v1/spaces/home")
      request.setValue("bEARER \(server.token)", forHTTPHeaderField: "Authorization")
      #expect(try await server.send(request).status == 200)
    }
  }
}
#endif
