#if Server
import Foundation
import TernCore
import TernServer
import Testing

@Suite("HTTP: state reports", .timeLimit(.minutes(1)))
struct StateAPITests {
  private static let path = "/v1/spaces/home/state"

  private func body(_ document: [String: Any]) throws -> [UInt8] {
    Array(try JSONSerialization.data(withJSONObject: document))
  }

  @Test("a report is told by the greeting")
  func told() async throws {
    try await LiveServer.run { server async throws in
      var ada = Author(1)
      _ = try await server.push(ada.write(count: 2))
      let document: [String: Any] = [
        "replica": ada.replica.description, "cursor": try server.service.end().rawValue,
        "operations": "ffffffffffffffff",
        "tables": ["book": ["ffffffffffffffff", "0"]],
      ]
      let done = try await server.send(
        server.request(Self.path, method: "PUT", body: try body(document)))
      #expect(done.json as? [String: Int] == ["now": 1_000_000])
      let greeting = try await server.send(server.request("/v1/spaces/home")).json
      #expect(greeting["wantsState"] as? Bool == false)
      let state = try #require(greeting["state"] as? [String: Any])
      #expect(NSDictionary(dictionary: state).isEqual(to: document))
    }
  }

  @Test(
    "what is no report is malformed",
    arguments: ["[]", #"{"tables":{}}"#, #"{"replica":"1","cursor":"c","tables":{}}"#])
  func malformed(text: String) async throws {
    try await LiveServer.run { server async throws in
      let answer = try await server.send(
        server.request(Self.path, method: "PUT", body: Array(text.utf8)))
      #expect((answer.status, answer.problem) == (400, "malformed"))
      let replica = Author(1).replica.description
      for tables in [["book": ["0"]], ["book": ["0", "-1"]], ["book": ["0", "g"]]] {
        let answer = try await server.send(
          server.request(
            Self.path, method: "PUT",
            body: try body(["replica": replica, "cursor": "c", "operations": "0", "tables": tables])
          ))
        #expect((answer.status, answer.problem) == (400, "malformed"))
      }
      let other = try await server.send(server.request(Self.path))
      #expect((other.status, other.header("Allow")) == (405, "PUT"))
    }
  }
}
#endif
