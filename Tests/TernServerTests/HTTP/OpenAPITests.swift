#if Server
import Foundation
import HTTPTypes
import TernCore
import Testing

@testable import TernServer

/// `Sources/CTernAPI/openapi.json` against the server. `script/api` holds it against answers to what
/// nobody thought of.
@Suite("HTTP: the OpenAPI document")
struct OpenAPITests {
  /// An operation of the document, with its path as a client writes it.
  struct Operation {
    var id: String
    var method: String
    var path: String
    /// The problem codes of each refusal, by status.
    var problems: [Int: Set<String>]

    /// Whether a request is for this one. Ids are as a client was given them.
    func matches(_ method: String, _ path: String) -> Bool {
      guard method == self.method else { return false }
      let (own, others) = (
        self.path.split(separator: "/", omittingEmptySubsequences: false),
        path.split(separator: "/", omittingEmptySubsequences: false)
      )
      guard own.count == others.count else { return false }
      return zip(own, others).allSatisfy { $0 == $1 || ["a", "0", "home"].contains($0) }
    }
  }

  private static let file = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Sources/CTernAPI/openapi.json")

  private static let prefix = "urn:tern:problem:"

  private static func document() throws -> [String: Any] {
    let object = try JSONSerialization.jsonObject(with: Data(contentsOf: file))
    return try #require(object as? [String: Any])
  }

  /// What a reference names, where it is one.
  private static func resolved(_ object: [String: Any], in document: [String: Any]) throws
    -> [String: Any]
  {
    guard let reference = object["$ref"] as? String else { return object }
    var found = document
    for name in reference.dropFirst("#/".count).split(separator: "/") {
      found = try #require(found[String(name)] as? [String: Any], "\(reference)")
    }
    return found
  }

  private static func member(_ names: String..., of object: [String: Any]) -> [String: Any] {
    names.reduce(object) { $0[$1] as? [String: Any] ?? [:] }
  }

  private static func codes(_ schema: [String: Any]) -> Set<String> {
    let types = member("properties", "type", of: schema)["enum"] as? [String] ?? []
    return Set(types.map { String($0.dropFirst(prefix.count)) })
  }

  static func operations() throws -> [Operation] {
    let document = try document()
    var operations: [Operation] = []
    for (template, item) in member("paths", of: document) {
      let path = template.replacing("{space}", with: "home").replacing("{id}", with: "a")
        .replacing("{index}", with: "0")
      for (method, object) in try #require(item as? [String: Any]) where method != "parameters" {
        let operation = try #require(object as? [String: Any])
        var problems: [Int: Set<String>] = [:]
        for (status, answer) in member("responses", of: operation) where status != "200" {
          let answer = try resolved(try #require(answer as? [String: Any]), in: document)
          problems[try #require(Int(status))] = codes(
            member("content", "application/problem+json", "schema", of: answer))
        }
        let id = try #require(operation["operationId"] as? String)
        operations.append(
          Operation(id: id, method: method.uppercased(), path: path, problems: problems))
      }
    }
    return operations
  }

  /// What the document calls a route. A new route doesn't compile before it has a name here and in
  /// ``routes``.
  private static func name(_ route: Route) -> String {
    switch route {
    case .health: "health"
    case .openAPI: "openapi"
    case .spaceEvents: "spaceEvents"
    case .space(_, let route):
      switch route {
      case .greet: "greet"
      case .push: "push"
      case .pull: "pull"
      case .events: "events"
      case .reportState: "reportState"
      case .beginSnapshot: "beginSnapshot"
      case .completeSnapshot: "completeSnapshot"
      case .putSnapshotPart: "putSnapshotPart"
      case .snapshotPart: "snapshotPart"
      }
    }
  }

  private static let routes: [Route] =
    [.health, .openAPI, .spaceEvents]
    + [
      .greet, .push, .pull, .events, .reportState, .beginSnapshot, .completeSnapshot(id: "a"),
      .putSnapshotPart(id: "a", index: 0), .snapshotPart(id: "a", index: 0),
    ].map { .space("home", $0) }

  @Test func `every route is in the document, and nothing else`() throws {
    let operations = try Self.operations()
    #expect(operations.map(\.id).sorted() == Self.routes.map(Self.name).sorted())
    for operation in operations {
      let method = try #require(HTTPRequest.Method(operation.method))
      let route = try Route(method: method, path: operation.path)
      #expect(Self.name(route) == operation.id)
      let methods = operations.filter { $0.path == operation.path }.map(\.method).sorted()
      #expect(Route.methods(at: operation.path) == methods.joined(separator: ", "))
    }
  }

  @Test func `every problem is documented, each by its status`() throws {
    let server = Set(RemoteError.Code.answers.keys.map(\.rawValue) + ["unavailable"])
    let problem = Self.member("components", "schemas", "Problem", of: try Self.document())
    #expect(Self.codes(problem) == server)
    var documented: Set<String> = []
    for operation in try Self.operations() {
      for (status, codes) in operation.problems {
        #expect(!codes.isEmpty, "\(operation.id) \(status)")
        for code in codes {
          let usual = RemoteError.Code.answers[RemoteError.Code(rawValue: code)]?.status.code
          let statuses = usual.map { [$0] } ?? [429, 503]
          #expect(statuses.contains(status), "\(operation.id) \(status) \(code)")
        }
        documented.formUnion(codes)
      }
    }
    #expect(documented == server)
  }

  @Test(arguments: ProblemTests.cases)
  func `every refusal that the tests know is documented`(example: ProblemTests.Case) throws {
    let operations = try Self.operations()
    #expect(operations.count == Self.routes.count)
    let method = try #require(HTTPRequest.Method(example.method))
    let path = String(example.path.prefix { $0 != "?" })
    // What no route takes belongs to none of the operations.
    guard let route = try? Route(method: method, path: path) else {
      #expect(["not-found", "method-not-allowed"].contains(example.name))
      return
    }
    let operation = operations.first { $0.id == Self.name(route) }
    #expect(operation?.problems[example.status]?.contains(example.name) == true)
  }

  @Test func `the server gives the file, and asks for no token`() async throws {
    let file = try Data(contentsOf: Self.file)
    try await LiveServer.run { server async throws in
      let answer = try await server.send(server.request("/v1/openapi.json", token: nil))
      #expect(answer.status == 200)
      #expect(answer.header("Content-Type") == "application/json")
      #expect(answer.body == file)
    }
  }
}
#endif
