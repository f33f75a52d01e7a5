import ExampleService
import Foundation
import Hummingbird
import Logging
import NIOCore

/// A service of the contract whose every word a test decides.
struct ScriptedService: LocalService {
  var port = 0
  var engine: String?
  let logger = Logger(label: "scripted") { _ in SwiftLogNoOpLogHandler() }
  var onListening: @Sendable (Int) async -> Void = { _ in }
  /// Gets the text that is asked for, and what sends a piece of the answer's document at once.
  let answer: @Sendable (String, (String) async throws -> Void) async throws -> Void

  func run() async throws { try await listen(Responder(engine: engine, answer: answer)) }

  /// A folder whose device asks it.
  static func withFolder(
    engine: String? = nil,
    answer: @escaping @Sendable (String, (String) async throws -> Void) async throws -> Void,
    body: @escaping @Sendable (TranslateFolder) async throws -> Void
  ) async throws {
    try await ScriptedService(engine: engine, answer: answer).serving { url in
      try await withTranslateFolder { folder in
        _ = try await folder("settings", "service", url.absoluteString)
        try await body(folder)
      }
    }
  }

  struct Place: Sendable { var url: String }

  private struct Responder: HTTPResponder {
    typealias Context = CuttableContext
    let engine: String?
    let answer: @Sendable (String, (String) async throws -> Void) async throws -> Void

    func respond(to request: Request, context: CuttableContext) async throws -> Response {
      let body = try await request.body.collect(upTo: 1 << 20)
      let asked = try JSONSerialization.jsonObject(with: Data(body.readableBytesView))
      let contents = (asked as? [String: Any])?["contents"] as? [[String: Any]]
      let text = (contents?.first?["parts"] as? [[String: String]])?.first?["text"] ?? ""
      let (engine, answer) = (engine, answer)
      return Response(
        status: .ok, headers: [.contentType: "text/event-stream"],
        body: ResponseBody { writer in
          func send(_ candidate: [String: Any]) async throws {
            var piece: [String: Any] = ["candidates": [candidate]]
            piece["modelVersion"] = engine
            let data = try JSONSerialization.data(withJSONObject: piece)
            try await writer.write(
              ByteBuffer(string: "data: \(String(decoding: data, as: UTF8.self))\n\n"))
          }
          try await answer(text) { piece in
            try await send(["content": ["role": "model", "parts": [["text": piece]]]])
          }
          try await send(["finishReason": "STOP"])
          try await writer.finish(nil)
        })
    }
  }
}

/// Something that several wait for, once.
actor Gate {
  private var isOpen = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func open() {
    isOpen = true
    for one in waiting { one.resume() }
    waiting = []
  }

  func pass() async {
    if !isOpen { await withCheckedContinuation { waiting.append($0) } }
  }
}
