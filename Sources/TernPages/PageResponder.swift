#if Server
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle

/// Answers a page: its files, what it asks its program, and the stream of changes.
struct PageResponder: HTTPResponder {
  typealias Context = BasicRequestContext

  let files: PageFiles
  let program: any PageProgram
  /// Once the port is known.
  let guarding: @Sendable () -> PageGuard?

  private static let bodyBytes = 65_536

  func respond(to request: Request, context: Context) async throws -> Response {
    var response: Response
    do {
      response = try await answer(request)
    } catch let refusal as PageGuard.Refusal {
      response =
        PageAnswer(refusal.status, refusal.code, refusal.message, passes: refusal.passes).response
    }
    response.headers.append(contentsOf: PageFiles.headers)
    return response
  }

  private func answer(_ request: Request) async throws -> Response {
    guard let guarding = guarding() else {
      return PageAnswer(.serviceUnavailable, "starting", "the page starts", passes: true).response
    }
    try guarding.checkPlace(request.head)
    guard request.method == .get || request.method == .post else {
      return PageAnswer(.methodNotAllowed, "method", "this page takes GET and POST").response
    }
    let path = request.uri.path
    if request.method == .get, let file = files.response(to: path) { return file }
    guard path.hasPrefix("/api/") else { return PageAnswer.unknown.response }
    try guarding.checkReader(request.head)
    if path == "/api/events" { return events(request) }
    let isChange = request.method == .post
    let name = String(path.dropFirst("/api/".count))
    let pairs = request.uri.queryParameters.map { (String($0.key), String($0.value)) }
    let query = Dictionary(pairs, uniquingKeysWith: { $1 })
    if isChange, let limit = program.uploadBytes(name) {
      let upload = try PageUpload()
      defer { upload.remove() }
      try await upload.take(request, mostBytes: limit)
      return await program.answer(
        PageRequest(path: name, query: query, isChange: true, body: Data(), file: upload.file)
      ).response
    }
    let body = isChange ? try await self.body(request) : Data()
    return await program.answer(
      PageRequest(path: name, query: query, isChange: isChange, body: body, file: nil)
    ).response
  }

  private func body(_ request: Request) async throws -> Data {
    guard request.headers[.contentType] == "application/json" else {
      throw PageGuard.Refusal(status: .unsupportedMediaType, message: "a change is sent as JSON")
    }
    do {
      return Data(try await request.body.collect(upTo: Self.bodyBytes).readableBytesView)
    } catch is NIOTooManyBytesError {
      throw PageGuard.Refusal(status: .contentTooLarge, message: "the change is too long")
    }
  }

  /// A number for each change as server-sent events, until either side ends it.
  ///
  /// - Source: WHATWG HTML, section 9.2, "Server-sent events".
  private func events(_ request: Request) -> Response {
    let body = ResponseBody { [program] writer in
      let (news, continuation) = AsyncStream.makeStream(
        of: PageNews.self, bufferingPolicy: .bufferingNewest(1))
      try await request.body.consumeWithInboundCloseHandler { _ in
        try await withGracefulShutdownHandler {
          try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await program.watch { continuation.yield($0) } }
            for await item in news {
              try await writer.write(ByteBuffer(string: item.text))
            }
            group.cancelAll()
          }
        } onGracefulShutdown: {
          continuation.finish()
        }
      } onInboundClosed: {
        continuation.finish()
      }
      try await writer.finish(nil)
    }
    return Response(status: .ok, headers: [.contentType: "text/event-stream"], body: body)
  }
}
#endif
