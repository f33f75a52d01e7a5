import ExampleService
import Foundation
import Hummingbird
import Logging
import NIOCore
import Synchronization

/// A service that answers each question with bytes that a test has written.
struct SentService: LocalService {
  struct Answer: Sendable {
    var body: String
    /// Whether the connection is closed behind it, in the middle of the answer.
    var isCut = false

    init(_ events: String..., isCut: Bool = false) {
      body = events.map { "data: \($0)\n\n" }.joined()
      self.isCut = isCut
    }
  }

  var port = 0
  let logger = Logger(label: "sent") { _ in SwiftLogNoOpLogHandler() }
  var onListening: @Sendable (Int) async -> Void = { _ in }
  /// The last one for all that come after.
  let answers: [Answer]
  let count = Count()

  final class Count: Sendable {
    private let count = Mutex(0)

    var value: Int { count.withLock { $0 } }

    func next() -> Int {
      count.withLock { count in
        count += 1
        return count
      }
    }
  }

  func run() async throws { try await listen(Responder(answers: answers, count: count)) }

  /// A folder whose device asks it, and how often it did.
  static func withFolder(
    _ answers: Answer..., body: @escaping @Sendable (TranslateFolder, Count) async throws -> Void
  ) async throws {
    let service = SentService(answers: answers)
    try await service.serving { url in
      try await withTranslateFolder { folder in
        _ = try await folder("settings", "service", url.absoluteString)
        try await body(folder, service.count)
      }
    }
  }

  private struct Responder: HTTPResponder {
    typealias Context = CuttableContext
    let answers: [Answer]
    let count: Count

    func respond(to request: Request, context: CuttableContext) async throws -> Response {
      _ = try await request.body.collect(upTo: 1 << 20)
      let answer = answers[min(count.next(), answers.count) - 1]
      return Response(
        status: .ok, headers: [.contentType: "text/event-stream"],
        body: ResponseBody { writer in
          try await writer.write(ByteBuffer(string: answer.body))
          if answer.isCut {
            context.cut()
            throw ConnectionCut()
          }
          try await writer.finish(nil)
        })
    }
  }
}
