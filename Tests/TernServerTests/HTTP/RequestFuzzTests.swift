#if Server
import Foundation
import HTTPTypes
import Rehearsals
import TernCore
import Testing

@testable import TernServer

/// For how long `script/fuzz` wants made-up requests; `nil` for so many of them.
private let fuzzSeconds = ProcessInfo.processInfo.environment["TERN_FUZZ_SECONDS"]
  .flatMap { Int($0) }

/// Requests that a seed makes up, to each route of the OpenAPI document, over a socket.
/// `script/fuzz SECONDS requests` goes on for longer.
@Suite("HTTP: made-up requests", .timeLimit(.minutes(3 + (fuzzSeconds ?? 0) / 60)))
struct RequestFuzzTests {
  /// At the same time, on a connection each.
  private static let clients = 8

  /// A request that each route takes, or would if its upload were there.
  private func templates(_ server: LiveServer) throws -> [RequestFuzzer.Template] {
    var ada = Author(1)
    _ = try server.service.push(ada.write(count: 2), to: .home)
    let snapshot = try server.service.upload(
      SnapshotOffer(at: server.service.end(), of: [ada]))
    let more = ada.write(count: 1)
    _ = try server.service.push(more, to: .home)
    let end = try server.service.end()
    let next = SnapshotOffer("next", at: end, of: [ada])
    let upload = try server.service.beginSnapshot(next, in: .home).id
    let offer = Array(try JSONEncoder().encode(OfferDocument(next)))
    let report = Array(
      """
      {"replica":"\(ada.replica)","cursor":"\(end.rawValue)","operations":"1","repaired":true,"tables":{}}
      """.utf8)
    let part = try next.partsWithoutRows()[0]
    let bodies: [String: (String, [UInt8])] = [
      "push": (batchType, OperationBatch(more).encoded()),
      "reportState": ("application/json", report),
      "beginSnapshot": ("application/json", offer), "putSnapshotPart": (partType, part),
    ]
    return try OpenAPITests.operations().sorted { $0.id < $1.id }.map { operation in
      let id = operation.id == "snapshotPart" ? snapshot : upload
      let path = operation.path.replacing("snapshots/a", with: "snapshots/\(id)")
      return RequestFuzzer.Template(
        method: operation.method, path: path, body: bodies[operation.id])
    }
  }

  /// The status, and the whole answer but for what a stream goes on with.
  private static func answer(
    to bytes: [UInt8], of server: LiveServer
  ) async throws -> (head: RawHead, body: [UInt8]) {
    let client = try RawClient(server)
    await client.send(bytes)
    client.endSending()
    let head = await client.head()
    let isStream = head.text.contains("text/event-stream")
    let body = isStream ? [] : await client.receive(head.length)
    client.end()
    return (head, body)
  }

  /// What is wrong with an answer; `nil` for nothing.
  private static func fault(
    in answer: (head: RawHead, body: [UInt8]), to made: RequestFuzzer.Made,
    _ operations: [OpenAPITests.Operation]
  ) -> String? {
    guard let status = answer.head.status else { return nil }
    guard status >= 400 else { return nil }
    let route = made.route.flatMap { method, path in
      operations.first { $0.matches(method, path) }
    }
    let isProblem = String(decoding: answer.body, as: UTF8.self).contains("urn:tern:problem:")
    if status >= 500 {
      return isProblem && (route?.problems[status] != nil || made.route == nil) ? nil : "5xx"
    }
    // Invalid HTTP has no document, nor has the answer to HEAD.
    if status != 400, !isProblem, made.route?.method != "HEAD" { return "no problem document" }
    if let route, route.problems[status] == nil { return "a status that is not documented" }
    return nil
  }

  @Test(arguments: StoreKind.allCases)
  func `each answer is one that the document has, and an honest device goes on`(
    _ kind: StoreKind
  ) async throws {
    let test = try kind.open(hasRules: false)
    var limits = ServerLimits()
    // What is cut off soon delays nothing here.
    (limits.headTime, limits.bodyTime) = (.milliseconds(300), .milliseconds(300))
    (limits.requestsPerToken, limits.connections) = (1_000, 1_000)
    let end = fuzzSeconds.map { ContinuousClock.now + .seconds($0) / StoreKind.allCases.count }
    let seeds = Rehearsal.seeds(1...4_000, short: 400)
    try await LiveServer.run(
      idle: .milliseconds(500), limits: limits, store: test.store
    ) { server async throws in
      let (templates, operations) = (try templates(server), try OpenAPITests.operations())
      let answered = try await withThrowingTaskGroup(of: [Int: Int].self) { group in
        for client in 0..<Self.clients {
          group.addTask {
            var statuses: [Int: Int] = [:]
            var seed = seeds.lowerBound + UInt64(client)
            while end.map({ ContinuousClock.now < $0 }) ?? (seed <= seeds.upperBound) {
              var fuzzer = RequestFuzzer(seed: seed, token: server.token, templates: templates)
              let made = fuzzer.next()
              let answer = try await Self.answer(to: made.bytes, of: server)
              if let fault = Self.fault(in: answer, to: made, operations) {
                let request = String(decoding: made.bytes.prefix(300), as: UTF8.self)
                Issue.record("\(fault): seed \(seed): \(request)\n\(answer.head.text)")
              }
              statuses[answer.head.status ?? 0, default: 0] += 1
              seed += UInt64(Self.clients)
            }
            return statuses
          }
        }
        return try await group.reduce(into: [:]) { $0.merge($1) { $0 + $1 } }
      }
      print("made-up requests on \(kind): \(answered.sorted { $0.key < $1.key })")
      // It saw answers of all kinds, and not only the first check's.
      for status in [200, 400, 401, 404, 405] { #expect(answered[status, default: 0] > 0) }
      var ada = Author(9)
      #expect(try await server.push(ada.write(count: 1)).status == 200)
      #expect(try await server.send(server.request("/v1/spaces/home/operations")).status == 200)
    }
    withExtendedLifetime(test) {}
  }
}
#endif
