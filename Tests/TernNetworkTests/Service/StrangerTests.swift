import Foundation
import TernCore
import TernTesting
import Testing

@testable import TernNetwork

@Suite("Service: what answers in a service's place")
struct StrangerTests {
  private static let addresses = ["https://a.example", "http://a.example", "http://127.0.0.1:8091"]

  private func service(
    _ address: String, knows: Bool = true,
    _ answer: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse
  ) throws -> HTTPService {
    let isOwn: @Sendable (HTTPProblem) -> Bool = { $0.code == "OWN" }
    return HTTPService(
      try #require(URL(string: address)), over: ScriptedTransport(answer),
      recognizing: knows ? isOwn : nil)
  }

  /// Whether what it says is taken for somebody else's.
  private func isStrange(
    _ service: HTTPService, at location: SourceLocation = #_sourceLocation
  ) async throws -> Bool {
    let request = try service.request(.get, "/")
    let error = await #expect(throws: (any Error).self, sourceLocation: location) {
      try await service.answer(to: request)
    }
    guard let error = error as? HTTPError, error.code == .notTheService else { return false }
    // Nothing has happened at the service, and nothing counts.
    #expect(error.advice == .unreachable && !error.mayHaveArrived)
    #expect("\(error)".contains("sign in to the network"))
    return true
  }

  private func problem(_ status: Int, _ code: String? = nil) -> HTTPResponse {
    guard let code else {
      return HTTPResponse(
        status: status, headers: ["Content-Type": "text/html"], body: HTTPBody(Array("<html>".utf8))
      )
    }
    return .json(#"{"code":"\#(code)"}"#, status: status)
  }

  @Test(arguments: addresses)
  func `is told by its form, and of failures only what can be nobody's on the way is believed`(
    _ address: String
  ) async throws {
    for status in [302, 307, 400, 401, 403, 404, 407, 511] {
      for code in [nil, "sign in"] {
        let service = try service(address) { _ in problem(status, code) }
        #expect(try await isStrange(service), "\(status)")
      }
    }
    for status in [408, 429, 500, 502, 503, 504] {
      let service = try service(address) { _ in problem(status) }
      #expect(try await isStrange(service) == (address == "http://a.example"), "\(status)")
    }
    for status in [302, 400, 403, 404, 429, 503] {
      let service = try service(address) { _ in problem(status, "OWN") }
      #expect(try await !isStrange(service), "\(status)")
    }
    let broken = try service(address) { _ in
      throw HTTPError(.tls, origin: try HTTPOrigin(of: address), "no certificate")
    }
    #expect(try await isStrange(broken) == !address.contains("127"))
    let lost = try service(address) { _ in throw HTTPError(.connectionLost, origin: nil, "") }
    #expect(try await !isStrange(lost))
  }

  @Test func `is not looked for where the service's form is not known`() async throws {
    let service = try service("http://a.example", knows: false) { _ in problem(403) }
    #expect(try await !isStrange(service))
    let page = try self.service("http://a.example", knows: false) { _ in problem(200) }
    #expect(try await page.answer(to: page.request(.get, "/")).status == 200)
  }

  @Test func `is a page with a good status, whatever type it names`() async throws {
    let page = try service("https://a.example") { _ in problem(200) }
    #expect(try await isStrange(page))
    let document = try service("https://a.example") { _ in .json(" \n<html>") }
    let answer = try await document.answer(to: document.request(.get, "/"))
    let error = await #expect(throws: HTTPError.self) {
      try await document.json([Int].self, in: answer)
    }
    #expect(error?.code == .notTheService)
    let good = try service("https://a.example") { _ in .json("[1]") }
    let told = try await good.answer(to: good.request(.get, "/"))
    #expect(try await good.json([Int].self, in: told) == [1])
  }

  @Test func `opens no stream`() async throws {
    let page = try service("https://a.example") { _ in problem(200) }
    let error = await #expect(throws: HTTPError.self) {
      try await page.events(from: page.request(.get, "/"))
    }
    #expect(error?.code == .notTheService)
    let foreign = HTTPRequest(.get, "https://b.example/")
    let other = await #expect(throws: HTTPError.self) { try await page.events(from: foreign) }
    #expect(other?.code == .otherOrigin)
    let good = try service("https://a.example") { _ in
      HTTPResponse(
        status: 200, headers: ["Content-Type": "text/event-stream"],
        body: HTTPBody(Array("data: x\n\n".utf8)))
    }
    let stream = try #require(try await good.events(from: good.request(.get, "/")))
    #expect(try await stream.next()?.data == "x")
  }
}
