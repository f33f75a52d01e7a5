#if os(Linux) && Rehearsal
import Foundation
import FoundationNetworking
import TernCore
import Testing

@testable import TernNetwork

@Suite("Transfer: what a background session's tasks come to", .timeLimit(.minutes(1)))
struct URLSessionOutcomeTests {
  private func request(_ method: String, _ url: String) throws -> URLRequest {
    var request = URLRequest(url: try #require(URL(string: url)))
    request.httpMethod = method
    return request
  }

  /// Of an upload to `https://scan.example/upload` that the system has followed to somewhere.
  private func outcome(
    _ method: String, _ url: String, status: Int = 200, body: [UInt8] = [7]
  ) throws -> URLSessionOutcome {
    let current = try request(method, url)
    return URLSessionOutcome(
      original: try request("POST", "https://scan.example/upload"), current: current,
      response: HTTPURLResponse(
        url: try #require(current.url), statusCode: status, httpVersion: nil, headerFields: [:]),
      body: body)
  }

  private func failure(_ outcome: URLSessionOutcome) -> HTTPError? {
    if case .failure(let error) = outcome.answer(limit: 10) { error } else { nil }
  }

  @Test("a redirect that dropped the file is no success, whatever the other page says")
  func droppedFile() throws {
    for status in [200, 404] {
      for body in [[], [UInt8](repeating: 7, count: 11)] {
        let error = failure(
          try outcome("GET", "https://scan.example/login", status: status, body: body))
        #expect(error?.code == .unexpectedBody)
        #expect(error?.advice == .failed)
        #expect(error?.detail.contains("redirected") == true)
      }
    }
    var cut = try outcome("GET", "https://scan.example/login")
    cut.error = URLError(.networkConnectionLost)
    #expect(failure(cut)?.code == .unexpectedBody)
    #expect(failure(try outcome("GET", "https://login.example/"))?.code == .otherOrigin)
  }

  @Test("a redirect that took the file along within the origin is an answer")
  func movedFile() throws {
    let moved = try outcome("POST", "https://scan.example/v2/upload")
    #expect(moved.answer(limit: 10) == .response(status: 200, headers: [:], body: [7]))
    #expect(failure(try outcome("POST", "https://other.example/upload"))?.code == .otherOrigin)
  }

  private func meaning(_ code: URLError.Code, isUnanswered: Bool = false) throws -> HTTPError {
    URLSessionEvents.httpError(
      URLError(code), origin: try HTTPOrigin(of: "http://scan.example"), isUnanswered: isUnanswered)
  }

  @Test(
    "what can't succeed by waiting is not called a lost connection",
    arguments: [
      (.appTransportSecurityRequiresSecureConnection, .invalidURL, .permanent),
      (.fileDoesNotExist, .fileMissing, .permanent),
      (.noPermissionsToReadFile, .fileUnreadable, .failed),
      (.fileIsDirectory, .fileUnreadable, .failed),
      (.dataLengthExceedsMaximum, .bodyTooLarge, .permanent),
      (.callIsActive, .unreachable, .unreachable),
      (.backgroundSessionWasDisconnected, .shutDown, .unreachable),
      (.cannotDecodeContentData, .invalidAnswer, .interrupted(isLocal: false)),
      (.networkConnectionLost, .connectionLost, .interrupted(isLocal: false)),
    ] as [(URLError.Code, HTTPError.Code, FailureAdvice)])
  func meanings(_ code: URLError.Code, _ meaning: HTTPError.Code, _ advice: FailureAdvice) throws {
    let error = try self.meaning(code)
    #expect(error.code == meaning)
    #expect(error.advice == advice)
    #expect(error.detail.contains("\(code.rawValue)"))
  }

  @Test("who forbids plain HTTP is named")
  func transportSecurity() throws {
    let error = try meaning(.appTransportSecurityRequiresSecureConnection)
    #expect(error.detail.contains("App Transport Security"))
  }

  @Test("a host that nobody answered for is unreachable, and one that fell silent is not")
  func timeouts() throws {
    #expect(try meaning(.timedOut).code == .idleTimeout)
    #expect(try meaning(.timedOut, isUnanswered: true).code == .connectTimeout)
    #expect(try meaning(.networkConnectionLost, isUnanswered: true).code == .connectionLost)
    var silent = try outcome("POST", "https://scan.example/upload")
    (silent.response, silent.error, silent.isUnanswered) = (nil, URLError(.timedOut), true)
    #expect(failure(silent)?.code == .connectTimeout)
  }

  /// As `UIApplicationDelegate` declares it: neither isolated nor sendable.
  @MainActor private final class AppDelegate {
    let transfers = URLSessionTransfers("org.example.tests")

    func handleEvents(completionHandler: @escaping () -> Void) {
      transfers.finishEvents(completionHandler)
    }
  }

  @Test("an app's delegate hands its completion over, before all is told or after it")
  @MainActor func finishing() async {
    let delegate = AppDelegate()
    var calls = 0
    for isToldFirst in [true, false] {
      await withCheckedContinuation { continuation in
        let session = URLSession(configuration: .ephemeral)
        let events = delegate.transfers.events
        if isToldFirst { events.urlSessionDidFinishEvents(forBackgroundURLSession: session) }
        delegate.handleEvents { continuation.resume() }
        if !isToldFirst { events.urlSessionDidFinishEvents(forBackgroundURLSession: session) }
      }
      calls += 1
    }
    #expect(calls == 2)
  }
}
#endif
