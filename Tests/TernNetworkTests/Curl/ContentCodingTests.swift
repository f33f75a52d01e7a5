#if os(Linux)
import Foundation
import Synchronization
import TestProcesses
import Testing

@testable import TernNetwork

/// libcurl takes off every coding that an answer names, asked for or not, and all of them in one go.
@Suite("Curl: what a body may be coded in", .timeLimit(.minutes(1)))
struct ContentCodingTests {
  private static let text = Array("a body that is readable".utf8)

  /// What stands after the status line, the empty line included, and the body.
  struct Answer: CustomTestStringConvertible, Sendable {
    var head: String
    /// How often the body is packed with gzip.
    var layers = 0
    var isChunked = false
    /// In place of a body with gzip.
    var bytes: [UInt8]?

    var testDescription: String { head.debugDescription }
  }

  static let refused = [
    Answer(head: "Content-Encoding: gzip, gzip\r\n\r\n", layers: 2),
    Answer(head: "content-encoding:GZIP ,\tX-Gzip\r\n\r\n", layers: 2),
    Answer(head: "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n\r\n", layers: 2),
    Answer(head: "Content-Encoding: identity\r\nContent-Encoding: gzip\r\n\r\n", layers: 1),
    // One block as it is, after which there is nothing.
    Answer(
      head: "Content-Encoding: deflate\r\n\r\n",
      bytes: [0x01, 0x02, 0x00, 0xFD, 0xFF, 0x6F, 0x6B]),
    Answer(
      head: "Content-Encoding: zstd\r\n\r\n",
      bytes: [0x28, 0xB5, 0x2F, 0xFD, 0x20, 0x02, 0x11, 0x00, 0x00, 0x6F, 0x6B]),
    Answer(
      head: "Content-Encoding: br\r\n\r\n", bytes: [0x8B, 0x00, 0x80, 0x6F, 0x6B, 0x03]),
    Answer(head: "Content-Encoding: unheard-of\r\n\r\n"),
    Answer(head: "Transfer-Encoding: gzip, chunked\r\n\r\n", layers: 1, isChunked: true),
    Answer(
      head: "transfer-encoding: Gzip\r\nTransfer-Encoding:chunked\r\n\r\n", layers: 1,
      isChunked: true),
    Answer(head: "Transfer-Encoding: gzip\r\n\r\n", layers: 1),
    // A head that two readers could take for two different ones.
    Answer(head: "Content-Encoding: gzip, gzip\r\nHTTP/1.1 200 x:y\r\n\r\n", layers: 2),
    Answer(head: "X: y\r\n \r\nContent-Encoding: gzip, gzip\r\n\r\n", layers: 2),
    Answer(head: "Content-Encoding: gzip, gzip\r\n\rX: y\n", layers: 2),
  ]

  static let taken = [
    Answer(head: "Content-Encoding: gzip\r\n\r\n", layers: 1),
    Answer(head: "Content-Encoding: , gzip ,\r\n\r\n", layers: 1),
    Answer(
      head: "Transfer-Encoding: Chunked\r\ncontent-encoding:\tX-GZIP \r\n\r\n", layers: 1,
      isChunked: true),
    Answer(head: "Content-Encoding: identity\r\nTransfer-Encoding: identity\r\n\r\n"),
    Answer(head: "Content-Encoding:\r\n\r\n"),
  ]

  private func gzip(_ bytes: [UInt8], layers: Int) throws -> [UInt8] {
    var packed = bytes
    for _ in 0..<layers {
      let file = try TemporaryFile(packed)
      let gzip = try ChildProcess("/usr/bin/env", arguments: ["gzip", "-c", file.path])
      gzip.endInput()
      packed = []
      while let piece = gzip.read() { packed += piece }
      guard gzip.wait() == 0 else { throw CocoaError(.fileReadUnknown) }
    }
    return packed
  }

  /// Answers one request with what stands before the head, the head and the body, and closes.
  private func serving(
    _ answer: Answer, after beginning: String = "", trailers: String = ""
  ) throws -> LocalServer {
    let body = try answer.bytes ?? gzip(Self.text, layers: answer.layers)
    return try LocalServer { connection in
      guard connection.readRequest() != nil else { return }
      let head = beginning + "HTTP/1.1 200 OK\r\nConnection: close\r\n" + answer.head
      let size = String(body.count, radix: 16)
      connection.write(
        answer.isChunked
          ? Array("\(head)\(size)\r\n".utf8) + body + Array("\r\n0\r\n\(trailers)\r\n".utf8)
          : Array(head.utf8) + body)
    }
  }

  @Test(
    "one that is coded in more than one gzip is refused after its status", arguments: refused)
  func isRefused(_ answer: Answer) async throws {
    let server = try serving(answer)
    defer { server.stop() }
    let request = HTTPRequest(.get, server.url, timeout: .seconds(20))
    let response = try await CurlTransport().send(request)
    #expect(response.status == 200)
    let error = await failure(HTTPError.self) { _ = try await response.collect(limit: 1000) }
    #expect(error?.code == .invalidAnswer)
  }

  @Test("one gzip is taken off, however it is written", arguments: taken)
  func isTaken(_ answer: Answer) async throws {
    let server = try serving(answer)
    defer { server.stop() }
    let response = try await CurlTransport().send(HTTPRequest(.get, server.url))
    #expect(try await response.collect(limit: 1000) == Self.text)
  }

  @Test("one gzip is taken off, too, where none was asked for", arguments: taken)
  func isTakenUnasked(_ answer: Answer) async throws {
    let server = try serving(answer)
    defer { server.stop() }
    let request = HTTPRequest(.get, server.url, headers: ["Accept-Encoding": "identity"])
    let response = try await CurlTransport().send(request)
    #expect(try await response.collect(limit: 1000) == Self.text)
    #expect(response.headers["Content-Encoding"] ?? "identity" == "identity")
  }

  @Test("a request that wants no coding says so, and nothing else")
  func unasked() async throws {
    let asked = Mutex<[String]>([])
    let server = try LocalServer { connection in
      guard let request = connection.readRequest() else { return }
      asked.withLock { $0 = request.headers["accept-encoding"].map { [$0] } ?? [] }
      connection.answer()
    }
    defer { server.stop() }
    _ = try await CurlTransport().send(
      HTTPRequest(.get, server.url, headers: ["Accept-Encoding": "identity"]))
    #expect(asked.withLock { $0 } == ["identity"])
  }

  @Test("codings of informational answers and trailers are not the body's")
  func elsewhere() async throws {
    let codings = "Content-Encoding: gzip, gzip\r\nTransfer-Encoding: gzip\r\n"
    let answer = Answer(
      head: "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n", layers: 1,
      isChunked: true)
    let server = try serving(
      answer, after: "HTTP/1.1 103 Early Hints\r\n\(codings)\r\n", trailers: codings)
    defer { server.stop() }
    let response = try await CurlTransport().send(HTTPRequest(.get, server.url))
    #expect(try await response.collect(limit: 1000) == Self.text)
  }

  @Test(
    "an answer that has no body may name what it would be coded in",
    arguments: [(HTTPRequest.Method.head, 200), (.get, 304), (.get, 204)])
  func without(method: HTTPRequest.Method, status: Int) async throws {
    let server = try LocalServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.write(
        "HTTP/1.1 \(status) Said\r\nContent-Encoding: br, gzip\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
      )
    }
    defer { server.stop() }
    let response = try await CurlTransport().send(HTTPRequest(method, server.url))
    #expect(response.status == status)
    #expect(try await response.collect(limit: 0).isEmpty)
  }

  @Test("bytes after a switch of protocols that nobody asked for are no body")
  func switched() async throws {
    let server = try LocalServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nbytes")
      connection.waitForEnd()
    }
    defer { server.stop() }
    let error = await CurlTransport().error(
      of: HTTPRequest(.get, server.url, timeout: .seconds(5)))
    #expect(error?.code == .invalidAnswer)
  }
}
#endif
