#if Server
import Foundation
import Logging
import TernCore
import Testing

@testable import TernServer

@Suite("HTTP: what the log says of requests", .timeLimit(.minutes(1)))
struct RequestLogTests {
  @Test(arguments: ["a", "0af7651916cd43dd8448eb211c80319c", "Proxy-1.2_x"])
  func `a well-formed id of a proxy's is taken, and told to whoever asked`(id: String) async throws
  {
    let log = RecordedLog()
    try await LiveServer.run(logger: log.logger) { server async throws in
      var request = server.request("/v1/spaces/home/nothing")
      request.setValue(id, forHTTPHeaderField: "X-Request-Id")
      let answer = try await server.send(request)
      #expect(answer.problem == "not-found")
      #expect(answer.header("X-Request-Id") == id && answer.json["request"] as? String == id)
    }
    #expect(log.lines.contains { $0.hasPrefix("info request ") && $0.contains("request=\(id)") })
  }

  @Test(arguments: ["", "a b", "a\"b", "é", String(repeating: "a", count: 129)])
  func `another one is drawn in place of what could be more than a word`(id: String) async throws {
    try await LiveServer.run { server async throws in
      var request = server.request("/v1/spaces/home")
      request.setValue(id, forHTTPHeaderField: "X-Request-Id")
      var ids: Set<String> = []
      for _ in 0..<2 {
        let answer = try await server.send(request)
        #expect(answer.status == 200)
        ids.insert(answer.header("X-Request-Id") ?? "")
      }
      #expect(ids.count == 2)
      #expect(ids.allSatisfy { $0.wholeMatch(of: /[0-9a-f]{32}/) != nil }, "\(ids)")
    }
  }

  @Test func `a slow request is told of, and no other`() async throws {
    for (time, isTold) in [(Duration.zero, true), (.seconds(60), false)] {
      let log = RecordedLog()
      try await LiveServer.run(logger: log.logger, slowRequestTime: time) { server async throws in
        _ = try await server.send(server.request("/v1/spaces/home"))
      }
      let slow = log.lines.filter { $0.hasPrefix("warning slow request ") }
      #expect(slow.count == (isTold ? 1 : 0))
      for word in ["route=greet", "status=200", "space=home", "seconds="] where isTold {
        #expect(slow[0].contains(word), "\(slow)")
      }
    }
  }

  /// Whatever level the log has: of all that a request brings, only what names it is in there.
  @Test(arguments: StoreKind.allCases)
  func `no token, member, query or content is in the log`(kind: StoreKind) async throws {
    let log = RecordedLog()
    let slow = SlowStatements(threshold: .zero) { sql, time in
      log.logger.warning("slow statement", metadata: ["sql": "\(sql)"])
    }
    let opened = try kind.open(slowStatements: slow)
    try await LiveServer.run(
      heartbeat: .milliseconds(10), store: opened.store, isWatched: true, logger: log.logger,
      slowRequestTime: .zero
    ) { server async throws in
      var generator = SeededGenerator(state: 5)
      let member = try MemberName("anna@example.org")
      let token = try server.service.createToken(for: .home, of: member, using: &generator)
      var author = Author(1)
      let operations = author.write(count: 2)
      for secret in [server.token, token, "wrong-secret", ""] {
        var push = server.request(
          "/v1/spaces/home/operations?secret=query", method: "POST", token: secret,
          type: "application/vnd.tern.batch", body: OperationBatch(operations).encoded())
        push.setValue("cookie-secret", forHTTPHeaderField: "Cookie")
        _ = try await server.send(push)
        _ = try await server.send(server.request("/v1/spaces/home?replica=bad", token: secret))
        _ = try await server.send(
          server.request("/v1/spaces/home/operations?after=bad-cursor", token: secret))
        _ = try await server.send(
          server.request("/v1/spaces/home/state", method: "PUT", token: secret, body: [1, 2, 3]))
      }
      _ = try await server.send(server.request("/v1/spaces/home", token: token))
      var events = EventReader(server.request("/v1/spaces/home/events", token: token))
      for _ in 0..<3 { _ = try await events.nextOrComment() }
      try server.service.revoke(token)
      while try await events.next() != nil {}
      let content = String(decoding: operations[0].bytes.suffix(8), as: UTF8.self)
      let said = log.lines.joined(separator: "\n")
      #expect(log.lines.count > 20)
      for secret in [
        server.token, token, "wrong-secret", "anna", "query", "cookie", "bad-cursor", "Bearer",
        author.replica.description, content,
      ] { #expect(!said.contains(secret), "\(secret)") }
      #expect(
        said.contains("SELECT") == (kind != .memory), "statements are among what was looked through"
      )
    }
    withExtendedLifetime(opened.examination) {}
  }
}
#endif
