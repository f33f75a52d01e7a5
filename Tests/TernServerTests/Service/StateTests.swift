#if Server
import Foundation
import TernCore
import TernServer
import Testing

@Suite("State reports, on every store")
struct StateTests {
  private func report(
    _ replica: UInt64, at cursor: RemoteCursor, rows: UInt64 = 1, shape: UInt64 = .max,
    isRepaired: Bool = false
  ) -> StateReport {
    StateReport(
      replica: Author(replica).replica, cursor: cursor, operations: .max, isRepaired: isRepaired,
      tables: ["book": .init(shape: shape, rows: rows), "shelf": .init(shape: 1, rows: 0)])
  }

  @Test("the last one is told while it is of the newest position", arguments: StoreKind.allCases)
  func told(kind: StoreKind) throws {
    let service = try kind.open().service { $0.stateInterval = .milliseconds(0) }
    var ada = Author(1)
    #expect(try !service.greet(.home).wantsState)
    _ = try service.push([ada.write()], to: .home)
    #expect(try service.greet(.home).wantsState)
    let first = report(1, at: try service.end())
    try service.report(first, in: .home)
    for _ in 0..<2 {
      #expect(try service.greet(.home).state == first)
      #expect(try !service.greet(.home).wantsState)
      // The same again changes nothing.
      try service.report(report(2, at: try service.end()), in: .home)
    }
    _ = try service.push([ada.write()], to: .home)
    #expect(try service.greet(.home).state == nil)
    let late = refusal { try service.report(first, in: .home) }
    #expect(late?.code == .stateSuperseded)
    let second = report(2, at: try service.end(), rows: 2)
    try service.report(second, in: .home)
    #expect(try service.greet(.home).state == second)
  }

  @Test(
    "another one is asked for after the interval, when something came",
    arguments: StoreKind.allCases)
  func interval(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service { $0.stateInterval = .seconds(10) }
    var ada = Author(1)
    _ = try service.push([ada.write()], to: .home)
    try service.report(report(1, at: try service.end()), in: .home)
    test.clock.now += 10_000
    #expect(try !service.greet(.home).wantsState)
    _ = try service.push([ada.write()], to: .home)
    #expect(try service.greet(.home).wantsState)
    try service.report(report(1, at: try service.end()), in: .home)
    _ = try service.push([ada.write()], to: .home)
    test.clock.now += 9_999
    #expect(try !service.greet(.home).wantsState)
    test.clock.now += 1
    #expect(try service.greet(.home).wantsState)
  }

  @Test("one that differs asks for a snapshot, and takes no place", arguments: StoreKind.allCases)
  func disputed(kind: StoreKind) throws {
    let service = try kind.open().service()
    var ada = Author(1)
    _ = try service.push([ada.write()], to: .home)
    let end = try service.end()
    let first = report(1, at: end)
    try service.report(first, in: .home)
    // Another shape is of another version of the app, and says nothing.
    try service.report(report(2, at: end, rows: 2, shape: 5), in: .home)
    #expect(try !service.greet(.home).wantsSnapshot)
    try service.report(report(2, at: end, rows: 2), in: .home)
    #expect(try service.greet(.home).wantsSnapshot)
    #expect(try service.greet(.home).state == first)
    try service.upload(SnapshotOffer(at: end, of: [ada]))
    #expect(try !service.greet(.home).wantsSnapshot)
    // One that a snapshot gave takes the place; then neither of the two does.
    let repaired = report(2, at: end, rows: 2, isRepaired: true)
    try service.report(repaired, in: .home)
    #expect(try service.greet(.home).state == repaired)
    try service.report(report(3, at: end, rows: 3, isRepaired: true), in: .home)
    #expect(try service.greet(.home).state == repaired)
  }

  @Test("more tables than the limit are refused by its name")
  func tables() throws {
    let service = try StoreKind.memory.open().service { $0.reportedTables = 1 }
    var ada = Author(1)
    _ = try service.push([ada.write()], to: .home)
    let error = refusal { try service.report(report(1, at: try service.end()), in: .home) }
    #expect(error?.code == .tooLarge && error?.message.hasPrefix("reportedTables") == true)
    #expect(try service.greet(.home).state == nil)
  }

  @Test("what is no report of the space's own history is refused, and makes no space")
  func refused() throws {
    let service = try StoreKind.memory.open().service()
    for text in ["", "x", "\(service.store.epoch).0.", "\(service.store.epoch).1.ab"] {
      let error = refusal {
        try service.report(report(1, at: RemoteCursor(rawValue: text)), in: .home)
      }
      #expect(error?.code == .stateSuperseded, "\(text)")
    }
    #expect(try service.store.spaces().isEmpty)
  }
}

@Suite("State reports over HTTP", .timeLimit(.minutes(1)))
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
