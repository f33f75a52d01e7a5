#if Server && os(Linux)
import Foundation
import TernCore
import Testing

@testable import TernServer

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A real `tern serve` is sent small bodies that would unpack to gigabytes.
@Suite("HTTP: bodies that unpack to much", .timeLimit(.minutes(2)))
struct BombTests {
  /// What a body unpacks to; the longest that is taken has 32 MiB.
  private static let bytes = 2 << 30
  /// What the process may have had in memory at most. It unpacks on two threads at least, 32 MiB on
  /// each, and one form twice.
  private static let peak = 256 << 20

  private struct Attack: Sendable {
    var path: String
    var method = "POST"
    var type: String?
    var coding: String?
    var body: [UInt8]
    /// Status and code.
    var refusal: (Int, String)
  }

  /// All routes that take a body, and all forms in which one can be packed.
  private static func attacks(upload: String) -> [Attack] {
    let (operations, limit) = ("/operations", OperationBatch.Limit.bytes)
    let push = { (body: [UInt8], refusal: (Int, String)) in
      Attack(path: operations, type: batchType, body: body, refusal: refusal)
    }
    let coded = { (path: String, method: String, type: String?) in
      ["gzip", "deflate"].map { coding in
        Attack(
          path: path, method: method, type: type, coding: coding,
          body: coding == "gzip" ? Bomb.gzip(bytes) : Bomb.zlib(bytes),
          refusal: (415, "unsupported-media-type"))
      }
    }
    return [
      push(Bomb.batch(1, bytes, declared: limit), (400, "malformed")),
      push(Bomb.batch(2, bytes, declared: limit), (400, "malformed")),
      push(Bomb.batch(1, bytes, declared: bytes), (413, "too-large")),
      push(Bomb.batch(2, bytes, declared: bytes), (413, "too-large")),
      // Which says the truth, and holds no operation.
      push(Bomb.batch(1, limit, declared: Bomb.deflate(limit).count), (400, "malformed")),
    ] + coded(operations, "POST", batchType) + coded("/snapshots", "POST", "application/json")
      + coded("/state", "PUT", "application/json")
      + coded("/snapshots/\(upload)/parts/0", "PUT", partType)
  }

  private struct Server: Sendable {
    let process: Int32
    let url: String
    let token: String

    func send(_ attack: Attack) async throws -> Answer {
      var request = try request(attack.path, attack.method, attack.type, attack.body)
      request.setValue(attack.coding, forHTTPHeaderField: "Content-Encoding")
      return try await send(request)
    }

    func request(
      _ path: String, _ method: String = "GET", _ type: String? = nil, _ body: [UInt8]? = nil
    ) throws -> URLRequest {
      var request = URLRequest(url: try #require(URL(string: url + "/v1/spaces/home" + path)))
      request.httpMethod = method
      request.httpBody = body.map { Data($0) }
      request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
      request.setValue(type, forHTTPHeaderField: "Content-Type")
      return request
    }

    func send(_ request: URLRequest) async throws -> Answer {
      let (body, response) = try await URLSession.shared.data(for: request)
      let answer = try #require(response as? HTTPURLResponse)
      return Answer(status: answer.statusCode, response: answer, body: body)
    }

    /// The most memory that it had at one moment.
    func peak() throws -> Int {
      let status = try String(
        contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
      let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
      return try #require(line.split(separator: " ").dropLast().last.flatMap { Int($0) }) << 10
    }
  }

  private func withServer(_ body: (Server) async throws -> Void) async throws {
    let folder = try TemporaryFolder()
    let data = ["--data", folder.path("data.tern")]
    let created = try TernProcess.run(["token", "create", "--space", "home"] + data)
    try #require(created.code == 0)
    let process = try TernProcess(["serve", "--port", "0", "--processor-per-token", "6000"] + data)
    defer {
      process.terminate()
      #expect(process.wait() == 0)
    }
    let url = try #require(process.line().split(separator: " ").last)
    try await body(
      Server(
        process: process.identifier, url: String(url),
        token: created.output.trimmingCharacters(in: .newlines)))
    let findings = try TernProcess.run(["doctor", folder.path("data.tern")])
    #expect(findings.code == 0, "\(findings.output)")
  }

  /// Offers a snapshot of all that the space has; the upload's id.
  private func offer(_ server: Server, _ author: Author) async throws -> String {
    let page = try await server.send(server.request("/operations"))
    let offer = SnapshotOffer(
      at: page.header("Tern-Cursor").map { RemoteCursor(rawValue: $0) }, of: [author])
    let body = Array(try JSONEncoder().encode(OfferDocument(offer)))
    let begun = try await server.send(
      server.request("/snapshots", "POST", "application/json", body))
    return try #require(begun.json["id"] as? String)
  }

  @Test func `every route refuses them, in bounded memory, and nothing is stored`() async throws {
    try await withServer { server in
      var ada = Author(1)
      let pushed = OperationBatch(ada.write(count: 2)).encoded()
      let push = try server.request("/operations", "POST", batchType, pushed)
      #expect(try await server.send(push).status == 200)
      let upload = try await offer(server, ada)
      let before = try await server.send(server.request("")).json
      let attacks = Self.attacks(upload: upload)
      #expect(attacks.allSatisfy { $0.body.count < 3 << 20 })
      // All of them at once, and again.
      try await withThrowingTaskGroup(of: Void.self) { group in
        for attack in attacks + attacks {
          group.addTask {
            let answer = try await server.send(attack)
            #expect(
              (answer.status, answer.problem) == (attack.refusal.0, attack.refusal.1),
              "\(attack.method) \(attack.path) \(attack.coding ?? "")")
          }
        }
        try await group.waitForAll()
      }
      // A part is opaque until the snapshot is complete.
      for index in 0...1 {
        let part = Bomb.part(Self.bytes, declared: SnapshotPart.Limit.contentBytes)
        let put = try await server.send(
          server.request("/snapshots/\(upload)/parts/\(index)", "PUT", partType, part))
        #expect(put.status == 200)
      }
      let done = try await server.send(server.request("/snapshots/\(upload)", "POST"))
      #expect((done.status, done.problem) == (409, "snapshot-refused"))
      let peak = try server.peak()
      #expect(peak < Self.peak, "\(peak >> 20) MiB")
      var after = try await server.send(server.request("")).json
      after["now"] = before["now"]
      #expect(NSDictionary(dictionary: after).isEqual(NSDictionary(dictionary: before)))
      let page = try await server.send(server.request("/operations"))
      #expect(try OperationBatch(encoded: Array(page.body)).operations.count == 2)
    }
  }
}
#endif
