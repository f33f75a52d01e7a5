import ExampleService
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// Answers every request: the contract, and the control of what goes wrong.
struct InterpreterResponder: HTTPResponder {
  typealias Context = CuttableContext

  static let model = "apertium"
  private static let mostBytes = 1 << 20

  let apertium: Apertium
  let misdeeds: Misdeeds<InterpreterMisdeed>
  let key: String?
  let counts: Counts

  func respond(to request: Request, context: CuttableContext) async throws -> Response {
    do {
      return try await answer(request, context)
    } catch let refused as Refused {
      counts.refused(refused.status)
      return Response(refused)
    }
  }

  private func answer(_ request: Request, _ context: CuttableContext) async throws -> Response {
    let path = request.uri.path.split(separator: "/")
    if path.first == "control" { return try await control(request, path.dropFirst().first) }
    guard path.count == 3, path.starts(with: ["v1beta", "models"]) else {
      throw Refused(404, "NOT_FOUND", "there is nothing at this path")
    }
    let words = path[2].split(separator: ":", maxSplits: 1)
    guard request.method == .post, words.count == 2 else {
      throw Refused(404, "NOT_FOUND", "ask with POST \(Self.model):generateContent")
    }
    guard words[0] == Self.model else {
      throw Refused(404, "NOT_FOUND", "models/\(words[0]) is not found; use \(Self.model)")
    }
    counts.asked()
    if let key, request.headers[.apiKey] != key {
      throw Refused(403, "PERMISSION_DENIED", "API key not valid. Please pass a valid API key.")
    }
    if let delay = misdeeds.take(.delay) {
      try await Task.sleep(for: .milliseconds(delay.value ?? 1000))
    }
    if let refusal = misdeeds.refusal() { throw refusal }
    let asked = try await question(request)
    switch words[1] {
    case "generateContent":
      let answer = try await generate(asked, request)
      if misdeeds.take(.brokenJSON) != nil { return Response(json: #"{"candidates": [{"cont"#) }
      return Response(json: encoded(answer.whole))
    case "streamGenerateContent":
      guard request.uri.queryParameters["alt"] == "sse" else {
        throw Refused(400, "INVALID_ARGUMENT", "streams are told as events here: ask with alt=sse")
      }
      return stream(try await generate(asked, request), context)
    default: throw Refused(404, "NOT_FOUND", "models here have generateContent and its stream")
    }
  }

  private func question(_ request: Request) async throws -> GenerateRequest {
    let body: ByteBuffer
    do {
      body = try await request.body.collect(upTo: Self.mostBytes)
    } catch is NIOTooManyBytesError {
      throw Refused(400, "INVALID_ARGUMENT", "the request has more than \(Self.mostBytes) bytes")
    }
    do {
      return try JSONDecoder().decode(GenerateRequest.self, from: Data(body.readableBytesView))
    } catch is DecodingError {
      throw Refused(400, "INVALID_ARGUMENT", "the request is no JSON of the contract's form")
    }
  }

  private func generate(_ asked: GenerateRequest, _ request: Request) async throws -> Generated {
    guard let text = asked.contents.last(where: { ($0.role ?? "user") == "user" })?.text,
      !text.isEmpty
    else { throw Refused(400, "INVALID_ARGUMENT", "contents has no text of the user's") }
    let (source, target) = try Self.languages(asked.systemInstruction?.text ?? "")
    let result: Apertium.Result
    do {
      result = try await apertium.translate(text, from: source, to: target)
    } catch let error as ApertiumError {
      throw error.code == .broken
        ? Refused(503, "UNAVAILABLE", "\(error)")
        : Refused(400, "INVALID_ARGUMENT", "\(error)")
    }
    return Generated(
      result, asksWords: text.split(separator: " ").count, wantsJSON: asked.wantsJSON, misdeeds)
  }

  /// The instruction names both languages by code, in parentheses; `auto` is none.
  private static func languages(_ instruction: String) throws(Refused) -> (String?, String) {
    let codes = instruction.matches(of: #/\(([a-z]{2,4})\)/#).map { String($0.output.1) }
    guard codes.count >= 2 else {
      throw Refused(
        400, "INVALID_ARGUMENT",
        "systemInstruction says no languages; write: from English (en) to Spanish (es)")
    }
    return (codes[0] == "auto" ? nil : codes[0], codes[1])
  }

  // MARK: - Streams

  private func stream(_ answer: Generated, _ context: CuttableContext) -> Response {
    let cut = misdeeds.take(.cutStream).map { $0.value ?? 1 }
    let isBroken = misdeeds.take(.brokenJSON) != nil
    let body = ResponseBody { writer in
      for index in answer.chunks.indices {
        let data = isBroken ? #"{"candidates": [{"cont"# : encoded(answer.chunk(index))
        try await writer.write(ByteBuffer(string: "data: \(data)\r\n\r\n"))
        if let cut, index + 1 == cut {
          context.cut()
          throw ConnectionCut()
        }
      }
      try await writer.finish(nil)
    }
    return Response(
      status: .ok,
      headers: [.contentType: "text/event-stream", .cacheControl: "no-store"], body: body)
  }

  // MARK: - Control

  /// `GET /control/counts`, and `POST /control/misbehave` with the text that `--misbehave` takes,
  /// which replaces what was asked for before.
  private func control(_ request: Request, _ name: Substring?) async throws -> Response {
    switch (request.method, name) {
    case (.get, "counts"):
      return Response(json: encoded(await counts.document(apertium)))
    case (.post, "misbehave"):
      let body = try await request.body.collect(upTo: 4096)
      do {
        misdeeds.replace(with: try Misdeed.list(String(buffer: body)))
      } catch {
        throw Refused(400, "INVALID_ARGUMENT", error.description)
      }
      return Response(status: .noContent)
    default: throw Refused(404, "NOT_FOUND", "there is no such control")
    }
  }
}

extension HTTPField.Name {
  static let apiKey = Self("x-goog-api-key")!
}

extension Response {
  fileprivate init(json: String, status: HTTPResponse.Status = .ok) {
    self.init(
      status: status, headers: [.contentType: "application/json; charset=UTF-8"],
      body: .init(byteBuffer: ByteBuffer(string: json)))
  }

  fileprivate init(_ refused: Refused) {
    self.init(json: encoded(refused.document), status: HTTPResponse.Status(code: refused.code))
    guard let wait = refused.wait else { return }
    switch wait.place {
    case .header, .both: headers[.retryAfter] = String(wait.seconds)
    case .date:
      let now = Date()
      headers[.date] = httpDate(now)
      headers[.retryAfter] = httpDate(now + Double(wait.seconds))
    case .details, .nowhere: break
    }
  }
}
