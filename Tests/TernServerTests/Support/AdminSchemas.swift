#if Server
import Foundation
import Testing

@testable import TernServer

/// `Sources/CTernAPI/admin.json`, and whether an answer is as it says.
///
/// It knows the words that this document uses: `$ref`, `type`, `properties`, `required`,
/// `additionalProperties`, `items`, `enum`, `minimum` and `pattern`.
struct AdminSchemas {
  typealias Object = [String: Any]

  static let file = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Sources/CTernAPI/admin.json")

  private let document: Object

  init() throws {
    let object = try JSONSerialization.jsonObject(with: Data(contentsOf: Self.file))
    document = try #require(object as? Object)
  }

  /// By `operationId`: the method, the path and what it says of the operation.
  func operations() throws -> [String: (method: String, path: String, operation: Object)] {
    var operations: [String: (method: String, path: String, operation: Object)] = [:]
    for (path, item) in try #require(document["paths"] as? Object) {
      for (method, operation) in try #require(item as? Object) where method != "parameters" {
        let operation = try #require(operation as? Object)
        let id = try #require(operation["operationId"] as? String)
        #expect(operations[id] == nil, "\(id) is there twice")
        operations[id] = (method.uppercased(), path, operation)
      }
    }
    return operations
  }

  /// The problem codes of each refusal of a call, by status.
  func problems(of call: AdminCall) throws -> [Int: Set<String>] {
    let operation = try #require(try operations()[call.rawValue]).operation
    var problems: [Int: Set<String>] = [:]
    for (status, answer) in try #require(operation["responses"] as? Object) where status != "200" {
      let answer = try resolved(answer)
      let schema = Self.member("content", "application/problem+json", "schema", of: answer)
      let types = Self.member("properties", "type", of: schema)["enum"] as? [String] ?? []
      problems[try #require(Int(status))] = Set(
        types.map { String($0.dropFirst("urn:tern:problem:".count)) })
    }
    return problems
  }

  /// All that the document's own list of problems has.
  var allProblems: Set<String> {
    let types =
      Self.member("components", "schemas", "Problem", "properties", "type", of: document)["enum"]
      as? [String] ?? []
    return Set(types.map { String($0.dropFirst("urn:tern:problem:".count)) })
  }

  /// What of an answer is not as the document says.
  func complaints(of answer: Answer, to call: AdminCall) throws -> [String] {
    let operation = try #require(try operations()[call.rawValue]).operation
    let success = Self.member("responses", "200", of: operation)
    let schema = Self.member("content", "application/json", "schema", of: success)
    #expect(!schema.isEmpty && answer.header("Content-Type") == "application/json")
    return try complaints(of: answer.json, schema, "answer")
  }

  private static func member(_ names: String..., of object: Object) -> Object {
    names.reduce(object) { $0[$1] as? Object ?? [:] }
  }

  private func resolved(_ schema: Any) throws -> Object {
    let schema = try #require(schema as? Object)
    guard let reference = schema["$ref"] as? String else { return schema }
    return try reference.dropFirst("#/".count).split(separator: "/").reduce(document) {
      try #require($0[String($1)] as? Object, "\(reference)")
    }
  }

  private func complaints(of value: Any, _ schema: Any, _ place: String) throws -> [String] {
    let schema = try resolved(schema)
    if let allowed = schema["enum"] as? [String] {
      return allowed.contains(value as? String ?? "") ? [] : ["\(place) is \(value)"]
    }
    switch schema["type"] as? String {
    case "object": return try complaints(ofObject: value, schema, place)
    case "array":
      guard let values = value as? [Any] else { return ["\(place) is no array"] }
      let items = try #require(schema["items"])
      return try values.flatMap { try complaints(of: $0, items, "\(place)[]") }
    case "string":
      guard let text = value as? String else { return ["\(place) is no string"] }
      let isMatched =
        try (schema["pattern"] as? String)
        .map { try text.firstMatch(of: Regex($0)) != nil } ?? true
      return isMatched ? [] : ["\(place) is \(text)"]
    case "integer":
      guard let number = value as? Int else { return ["\(place) is no integer"] }
      return number >= schema["minimum"] as? Int ?? .min ? [] : ["\(place) is \(number)"]
    case "boolean": return value is Bool ? [] : ["\(place) is no boolean"]
    default: return ["\(place) has a schema without a type"]
    }
  }

  private func complaints(ofObject value: Any, _ schema: Object, _ place: String) throws -> [String]
  {
    guard let object = value as? Object else { return ["\(place) is no object"] }
    let properties = schema["properties"] as? Object ?? [:]
    let required = Set(schema["required"] as? [String] ?? [])
    var complaints = required.subtracting(object.keys).map { "\(place).\($0) is absent" }
    for (key, value) in object {
      if let own = properties[key] ?? (schema["additionalProperties"] as? Object) {
        complaints += try self.complaints(of: value, own, "\(place).\(key)")
      } else if schema["additionalProperties"] as? Bool == false {
        complaints.append("\(place).\(key) is not in the document")
      }
    }
    return complaints
  }
}
#endif
