import ExampleService
import Foundation
import GRDB
import Hummingbird
import Logging
import NIOCore
import Synchronization
import Testing

@testable import translate

@Suite("What answers in the service's place", .serialized, .timeLimit(.minutes(3)))
struct StrangerTests {
  /// An answer that is no service's of the contract, unless it has its form.
  struct Said: Sendable, CustomTestStringConvertible {
    var status: HTTPResponse.Status
    var type = "text/html"
    var body = "<html>Sign in</html>"
    var testDescription: String { "\(status.code) \(body)" }
  }

  /// Answers whatever is asked with the same.
  private struct Portal: LocalService {
    struct Page: HTTPResponder {
      let said: Said

      func respond(to request: Request, context: CuttableContext) async throws -> Response {
        var headers: HTTPFields = [.contentType: said.type]
        if said.status.kind == .redirection { headers[.location] = "http://portal.example/" }
        return Response(
          status: said.status, headers: headers,
          body: .init(byteBuffer: ByteBuffer(string: said.body)))
      }
    }

    var port = 0
    let logger = Logger(label: "portal") { _ in SwiftLogNoOpLogHandler() }
    var onListening: @Sendable (Int) async -> Void = { _ in }
    let said: Said

    func run() async throws { try await listen(Page(said: said)) }
  }

  /// This machine by an address that is not known to be it.
  private func elsewhere(_ url: URL) -> String { "http://0.0.0.0:\(url.port ?? 0)" }

  @Test(arguments: [
    Said(status: .ok), Said(status: .noContent, body: ""), Said(status: .found),
    Said(status: .unauthorized), Said(status: .forbidden), Said(status: .notFound),
    Said(status: .badGateway), Said(status: .tooManyRequests),
    Said(status: .forbidden, type: "application/json", body: #"{"error":"sign in"}"#),
    Said(status: .forbidden, type: "application/json", body: #"{"error":{"code":403}}"#),
    Said(status: .unauthorized, type: "application/json", body: #"{"code":"portal","detail":"x"}"#),
  ])
  func `is no word of the service, and the question waits for that`(_ said: Said) async throws {
    try await Portal(said: said).serving { url in
      try await withTranslateFolder { folder in
        var folder = folder
        folder.environment["GEMINI_API_KEY"] = "a-key"
        _ = try await folder("settings", "service", elsewhere(url))
        let outcome = try await folder("one", "--from", "en")
        #expect(outcome.status == 75, "\(outcome)")
        #expect(outcome.complaints.contains("somebody on the way answers"), "\(outcome)")
        #expect(outcome.complaints.contains("look at `translate settings service`"))
        #expect(try await folder.history() == ["en→es\tone\twaiting"])
      }
    }
  }

  @Test func `on this machine is another program, for whose port nobody was to ask`() async throws {
    try await Portal(said: Said(status: .notFound)).serving { url in
      try await withTranslateFolder { folder in
        _ = try await folder("settings", "service", url.absoluteString)
        let outcome = try await folder("one", "--from", "en")
        #expect(outcome.status == 75 && outcome.complaints.contains("the address is another's"))
      }
    }
  }

  @Test(arguments: [
    (Said.refusal(.forbidden, "PERMISSION_DENIED"), "its https address"),
    (.refusal(.notFound, "NOT_FOUND"), "the service can't do this (why)"),
  ])
  func `in its form is believed`(_ said: Said, _ words: String) async throws {
    try await Portal(said: said).serving { url in
      try await withTranslateFolder { folder in
        var folder = folder
        folder.environment["GEMINI_API_KEY"] = "a-key"
        _ = try await folder("settings", "service", elsewhere(url))
        let outcome = try await folder("one", "--from", "en")
        #expect(outcome.status == 1 && outcome.complaints.contains(words), "\(outcome)")
      }
    }
  }

  @Test func `is waited out until the service answers again`() async throws {
    try await withTranslateFolder { folder in
      let port = Mutex(0)
      try await Portal(said: Said(status: .forbidden)).serving { url in
        port.withLock { $0 = url.port ?? 0 }
        _ = try await folder("settings", "service", elsewhere(url))
        for text in ["one", "two"] { #expect(try await folder(text, "--from", "en").status == 75) }
        #expect(try await folder("run", "--once").status == 75)
        #expect(try await folder.history() == ["en→es\tone\twaiting", "en→es\ttwo\twaiting"])
      }
      try await ScriptedService(port: port.withLock { $0 }) { text, tell in
        try await tell(#"{"translation":"<\#(text)>"}"#)
      }.serving { _ in
        let run = try await folder("run", "--once")
        #expect(run.status == 0 && run.output == "nothing waits\n", "\(run)")
        let history = try await folder.history()
        #expect(history.map { $0.split(separator: "\t")[2] } == ["<one>", "<two>"])
      }
    }
  }
}

extension StrangerTests.Said {
  /// As the contract has it.
  static func refusal(_ status: HTTPResponse.Status, _ name: String) -> Self {
    let error = #"{"error":{"code":\#(status.code),"message":"why","status":"\#(name)"}}"#
    return Self(status: status, type: "application/json; charset=UTF-8", body: error)
  }
}
