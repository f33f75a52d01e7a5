#if Server
import Foundation
import TernCore
import TernServer
import Testing

@Suite("HTTP: problem documents")
struct ProblemTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var path: String
    var method = "GET"
    var token: String? = ""
    var type: String? = nil
    var body: [UInt8]? = nil
    var status: Int
    var testDescription: String { "\(name): \(method) \(path)" }
  }

  private static let operations = "/v1/spaces/home/operations"
  private static let batch = "application/vnd.tern.batch"
  private static let future: [UInt8] = Array("TRN9".utf8)

  static let cases: [Case] = [
    Case(name: "not-found", path: "/", status: 404),
    Case(name: "not-found", path: "/v1", status: 404),
    Case(name: "not-found", path: "/health/x", status: 404),
    Case(name: "not-found", path: "/v1/rooms/home", status: 404),
    Case(name: "not-found", path: "/v1/spaces/home/", status: 404),
    Case(name: "not-found", path: "/v1/spaces/home/snapshots/a/parts", status: 404),
    Case(name: "not-found", path: "/v1/spaces/home/snapshots/a/parts/x", status: 404),
    Case(name: "method-not-allowed", path: "/v1/spaces/home/snapshots", status: 405),
    Case(name: "forbidden", path: "/v1/spaces/work/snapshots/a/parts/0", status: 403),
    Case(name: "snapshot-unknown", path: "/v1/spaces/home/snapshots/a/parts/0", status: 404),
    Case(
      name: "snapshot-unknown", path: "/v1/spaces/home/snapshots/a", method: "POST", status: 404),
    Case(
      name: "malformed", path: "/v1/spaces/home/snapshots", method: "POST", body: [1], status: 400),
    Case(
      name: "unsupported-media-type", path: "/v1/spaces/home/snapshots/a/parts/0", method: "PUT",
      type: "text/plain", body: [1], status: 415),
    Case(name: "method-not-allowed", path: "/health", method: "POST", status: 405),
    Case(name: "method-not-allowed", path: "/v1/spaces/home", method: "DELETE", status: 405),
    Case(name: "method-not-allowed", path: operations, method: "PUT", status: 405),
    Case(
      name: "method-not-allowed", path: "/v1/spaces/home/events", method: "POST", status: 405),
    Case(name: "malformed", path: "/v1/spaces/a%20b", status: 400),
    Case(name: "malformed", path: "/v1/spaces//operations", status: 400),
    Case(
      name: "too-large", path: "/v1/spaces/\(String(repeating: "a", count: 65))", status: 413),
    Case(name: "unauthorized", path: "/v1/spaces/home", token: nil, status: 401),
    Case(name: "unauthorized", path: "/v1/spaces/home", token: "tern_00", status: 401),
    Case(name: "unauthorized", path: operations, token: nil, status: 401),
    Case(name: "unauthorized", path: "/v1/spaces/home/events", token: nil, status: 401),
    Case(name: "forbidden", path: "/v1/spaces/work", status: 403),
    Case(name: "forbidden", path: "/v1/spaces/work/operations", status: 403),
    Case(name: "forbidden", path: "/v1/spaces/work/events", status: 403),
    Case(
      name: "forbidden", path: "/v1/spaces/work/operations", method: "POST", body: [], status: 403),
    Case(
      name: "malformed", path: operations, method: "POST", type: batch, body: [1, 2], status: 400),
    Case(
      name: "unsupported-version", path: operations, method: "POST", type: batch, body: future,
      status: 400),
    Case(
      name: "unsupported-media-type", path: operations, method: "POST", type: "text/plain",
      body: future, status: 415),
    Case(name: "cursor-unknown", path: operations + "?after=nonsense", status: 410),
    Case(name: "cursor-unknown", path: operations + "?after=", status: 410),
    Case(name: "cursor-unknown", path: "/v1/spaces/home/events?after=nonsense", status: 410),
  ]

  @Test("every refusal is a problem document", arguments: cases)
  func refusals(example: Case) async throws {
    try await LiveServer.run { server async throws in
      let answer = try await server.send(
        server.request(
          example.path, method: example.method, token: example.token, type: example.type,
          body: example.body))
      #expect(answer.status == example.status)
      #expect(answer.problem == example.name)
      let text = String(decoding: answer.body, as: UTF8.self)
      #expect(!text.contains(server.token))
    }
  }

  @Test(
    "INV-08: whatever is asked of a space, it is asked with a token of that space",
    arguments: [
      "", "/operations", "/events", "/state", "/snapshots", "/snapshots/a", "/snapshots/a/parts/0",
    ])
  func tokens(path: String) async throws {
    try await LiveServer.run { server async throws in
      func ask(_ method: String, _ space: String, token: String?) async throws -> Answer {
        try await server.send(
          server.request(
            "/v1/spaces/\(space)\(path)", method: method, token: token,
            body: method == "GET" ? nil : []))
      }
      let allowed = try await ask("DELETE", "home", token: "").header("Allow")
      let methods = try #require(allowed).split(separator: ", ").map(String.init)
      #expect(!methods.isEmpty)
      for method in methods {
        for token in [nil, "tern_00", server.token + "0"] {
          let answer = try await ask(method, "home", token: token)
          #expect(answer.status == 401, "\(method)")
          #expect(answer.problem == "unauthorized")
        }
        let answer = try await ask(method, "work", token: "")
        #expect(answer.status == 403, "\(method)")
        #expect(answer.problem == "forbidden")
      }
    }
  }

  @Test("a missing token is asked for")
  func challenge() async throws {
    try await LiveServer.run { server async throws in
      let answer = try await server.send(server.request("/v1/spaces/home", token: nil))
      #expect(answer.header("WWW-Authenticate") == "Bearer")
    }
  }

  @Test("a wrong method is told the right ones")
  func methods() async throws {
    try await LiveServer.run { server async throws in
      let answer = try await server.send(
        server.request("/v1/spaces/home/operations", method: "DELETE"))
      #expect(answer.header("Allow") == "GET, POST")
    }
  }

  @Test("a store that fails is told as unavailable, without its words")
  func failure() async throws {
    let folder = try TemporaryFolder()
    let store = try openStore(folder.path("server.tern"))
    try await LiveServer.run(store: store) { server async throws in
      try store.close()
      let answer = try await server.send(server.request("/v1/spaces/home"))
      #expect(answer.status == 503)
      #expect(answer.problem == "unavailable")
      #expect(!String(decoding: answer.body, as: UTF8.self).contains("SQL"))
    }
  }

  @Test("a gap tells the replica, the number, and the one expected")
  func gap() async throws {
    try await LiveServer.run { server async throws in
      var ada = Author(1)
      _ = try await server.push(ada.write(count: 2))
      let skipped = ada.write(count: 2)
      let answer = try await server.push([skipped[1]])
      #expect(answer.status == 409)
      #expect(answer.problem == "sequence-gap")
      #expect(answer.json["replica"] as? String == ada.replica.description)
      #expect(answer.json["sequence"] as? Int == 4)
      #expect(answer.json["expected"] as? Int == 3)
    }
  }

  @Test("a conflict tells the replica and the number")
  func conflict() async throws {
    try await LiveServer.run { server async throws in
      var (original, copy) = (Author(1), Author(1))
      _ = try await server.push([original.write("one")])
      let answer = try await server.push([copy.write("secret words")])
      #expect(answer.status == 409)
      #expect(answer.problem == "sequence-conflict")
      #expect(answer.json["replica"] as? String == original.replica.description)
      #expect(answer.json["sequence"] as? Int == 1)
      #expect(!String(decoding: answer.body, as: UTF8.self).contains("secret"))
    }
  }

  @Test("a time ahead tells the server's clock")
  func ahead() async throws {
    try await LiveServer.run { server async throws in
      var ada = Author(1)
      let answer = try await server.push([ada.write(at: 1_300_001)])
      #expect(answer.status == 422)
      #expect(answer.problem == "time-ahead")
      #expect(answer.json["now"] as? Int == 1_000_000)
      #expect(answer.json["sequence"] as? Int == 1)
    }
  }

  @Test("a time that doesn't increase is refused")
  func notIncreasing() async throws {
    try await LiveServer.run { server async throws in
      var ada = Author(1)
      let answer = try await server.push([ada.write(), ada.fragment()])
      #expect(answer.status == 422)
      #expect(answer.problem == "time-not-increasing")
      #expect(answer.json["sequence"] as? Int == 2)
    }
  }

  @Test("too many streams are put off")
  func streams() async throws {
    var limits = ServerLimits()
    limits.streamsPerSpace = 0
    try await LiveServer.run(limits: limits) { server async throws in
      let answer = try await server.send(server.request("/v1/spaces/home/events"))
      #expect(answer.status == 503)
      #expect(answer.problem == "unavailable")
      #expect(answer.header("Retry-After") == "30")
    }
  }

  @Test("too many streams of all spaces are put off by another name")
  func streamsOfAll() async throws {
    var limits = ServerLimits()
    limits.streams = 1
    try await LiveServer.run(limits: limits) { server async throws in
      let heads = try server.service.heads(of: .work)
      let refused = try await server.send(server.request("/v1/spaces/home/events"))
      #expect((refused.status, refused.problem) == (503, "unavailable"))
      #expect(refused.header("Retry-After") == "30")
      #expect((refused.json["detail"] as? String)?.hasPrefix("streams:") == true)
      withExtendedLifetime(heads) {}
    }
  }
}
#endif
