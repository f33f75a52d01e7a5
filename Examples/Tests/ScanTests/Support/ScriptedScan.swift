import ExampleService
import Foundation
import Hummingbird
import Logging
import NIOCore
import Synchronization

/// A scan service whose every answer a test decides; what it leaves open is answered as the contract
/// has it, with one book.
final class ScriptedScan: Sendable {
  enum Call: String, Hashable, Sendable { case create, stream, results, cleanUp, other }

  struct Said: Sendable {
    var status = 200
    var type = "application/json"
    var fields: [String: String] = [:]
    var body = ""

    static func events(_ events: (name: String, data: String)...) -> Said { each(events) }

    static func each(_ events: [(name: String, data: String)]) -> Said {
      var text = ""
      for (index, event) in events.enumerated() {
        text += "id: \(index + 1)-\(event.name)\nevent: \(event.name)\ndata: \(event.data)\n\n"
      }
      return Said(type: "text/event-stream", body: text)
    }
  }

  static let book =
    #"{"title":"Dune","author":"Frank Herbert","isbn":"9780441172719","confidence":0.9}"#

  let url: String
  private let asked: Asked

  private init(url: String, _ asked: Asked) { (self.url, self.asked) = (url, asked) }

  /// How often it was asked.
  func count(_ call: Call) -> Int { asked.count(call) }

  /// - Parameters:
  ///   - host: of the address by which it is asked.
  ///   - answer: gets what is asked and how often that was, from 1 on; `nil` for the contract's answer.
  static func run(
    host: String = "127.0.0.1",
    _ answer: @escaping @Sendable (Call, Int) -> Said?,
    body: @escaping @Sendable (ScriptedScan) async throws -> Void
  ) async throws {
    let asked = Asked()
    try await Listening(asked: asked, answer: answer).serving { url in
      try await body(ScriptedScan(url: "http://\(host):\(url.port ?? 0)", asked))
    }
  }

  private final class Asked: Sendable {
    private let counts = Mutex<[Call: Int]>([:])

    func count(_ call: Call) -> Int { counts.withLock { $0[call] ?? 0 } }

    func next(_ call: Call) -> Int {
      counts.withLock { counts in
        counts[call, default: 0] += 1
        return counts[call] ?? 0
      }
    }
  }

  private struct Listening: LocalService {
    var port = 0
    let logger = Logger(label: "scripted") { _ in SwiftLogNoOpLogHandler() }
    var onListening: @Sendable (Int) async -> Void = { _ in }
    let asked: Asked
    let answer: @Sendable (Call, Int) -> Said?

    func run() async throws { try await listen(Responder(asked: asked, answer: answer)) }
  }

  private struct Responder: HTTPResponder {
    typealias Context = CuttableContext
    let asked: Asked
    let answer: @Sendable (Call, Int) -> Said?

    func respond(to request: Request, context: CuttableContext) async throws -> Response {
      // Read whole: a connection that closes before is another failure.
      _ = try await request.body.collect(upTo: 20 << 20)
      let call: Call =
        switch (request.method, request.uri.path.split(separator: "/").last) {
        case (.post, "scans"): .create
        case (.get, "stream"): .stream
        case (.get, "results"): .results
        case (.delete, "cleanup"): .cleanUp
        default: .other
        }
      let said = answer(call, asked.next(call)) ?? Self.contract(call)
      var headers: HTTPFields = [.contentType: said.type]
      for (name, value) in said.fields { headers[.init(name)!] = value }
      return Response(
        status: .init(code: said.status), headers: headers,
        body: .init(byteBuffer: ByteBuffer(string: said.body)))
    }

    private static func contract(_ call: Call) -> Said {
      switch call {
      case .create:
        Said(
          status: 202,
          body: #"{"success":true,"data":{"jobId":"j","sseUrl":"/v3/jobs/scans/j/stream"}}"#)
      case .stream: .events(("complete", #"{"books":[\#(book)]}"#))
      case .results:
        Said(body: #"{"data":{"jobId":"j","status":"completed","results":[\#(book)]}}"#)
      case .cleanUp: Said(status: 204)
      case .other:
        Said(
          status: 404, type: "application/problem+json",
          body: #"{"title":"Not Found","status":404,"code":"NOT_FOUND"}"#)
      }
    }
  }
}
