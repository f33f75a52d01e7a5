import ExampleService
import Foundation
import InterpreterKit
import Logging
import Tern
import TernNetwork

/// The service in this process, on a free port.
struct Interpreter {
  let service: HTTPService

  /// Shared, so that the programs start once for all tests.
  private static let apertium = Apertium()

  static func run(
    _ misbehaviour: String = "", key: String? = nil,
    _ body: @escaping @Sendable (Interpreter) async throws -> Void
  ) async throws {
    var application = InterpreterApplication(apertium)
    application.logger = Logger(label: "interpreter") { _ in SwiftLogNoOpLogHandler() }
    application.misbehaviour = try Misdeed.list(misbehaviour)
    application.key = key
    try await application.serving { try await body(Interpreter(service: HTTPService($0))) }
  }

  static let question = "The house is big and the dog is small."
  static let answer = "La casa es grande y el perro es pequeño."

  func request(
    _ method: String = "generateContent", model: String = "apertium", key: String? = nil,
    text: String = question, from source: String = "en", json: Bool = false
  ) throws -> HTTPRequest {
    let body: [String: Any] = [
      "systemInstruction": ["parts": [["text": "Translate from (\(source)) to Spanish (es)."]]],
      "contents": [["role": "user", "parts": [["text": text]]]],
      "generationConfig": json ? ["responseMimeType": "application/json"] : [:],
    ]
    var request = try service.request(
      .post, "/v1beta/models/\(model):\(method)",
      body: .bytes(Array(JSONSerialization.data(withJSONObject: body))), timeout: .seconds(60))
    request.headers["x-goog-api-key"] = key
    return request
  }

  /// - Returns: status, header fields and the body, which may be cut off.
  func send(_ request: HTTPRequest) async throws -> Answered {
    let response = try await service.transport.send(request)
    var (bytes, wasCut) = ([UInt8](), false)
    do {
      for try await chunk in response.body { bytes += chunk }
    } catch is HTTPError {
      wasCut = true
    }
    return Answered(
      status: response.status, headers: response.headers, bytes: bytes, wasCut: wasCut)
  }

  struct Answered {
    var status: Int
    var headers: HTTPHeaders
    var bytes: [UInt8]
    var wasCut: Bool

    var json: [String: Any] {
      (try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]) ?? [:]
    }
    var error: [String: Any] { json["error"] as? [String: Any] ?? [:] }
    var candidate: [String: Any] { (json["candidates"] as? [[String: Any]])?.first ?? [:] }
    var reason: String? { candidate["finishReason"] as? String }
    var texts: [String] {
      let parts = (candidate["content"] as? [String: Any])?["parts"] as? [[String: Any]]
      return (parts ?? []).compactMap { $0["text"] as? String }
    }
    var events: [Answered] {
      get throws {
        var parser = EventStreamParser()
        return try parser.consume(bytes).compactMap {
          guard case .event(let event) = $0 else { return nil }
          return Answered(
            status: status, headers: headers, bytes: Array(event.data.utf8), wasCut: false)
        }
      }
    }
  }
}
