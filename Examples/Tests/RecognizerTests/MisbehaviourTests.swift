import Tern
import TernNetwork
import Testing

@testable import RecognizerKit

@Suite("Misbehaviour on request", .timeLimit(.minutes(1)))
struct MisbehaviourTests {
  @Test func `a dropped answer leaves a job behind`() async throws {
    try await LiveService.run("drop-accepted:1") { service async throws in
      await #expect(throws: HTTPError.self) { try await service.create() }
      #expect(try await service.counts().jobsAlive == 1)
      #expect(try await service.create().status == 202)
      let byPhoto = try await service.counts().jobsByPhoto
      #expect(Array(byPhoto.values) == [2])
    }
  }

  @Test(arguments: [
    ("limit-seconds=7", true, false), ("limit-date=7", true, false), ("limit-body=7", false, true),
    ("limit-both=7", true, true), ("limit-bare=7", false, false),
  ])
  func `too many requests are refused for some seconds, in each form`(
    _ text: String, _ isInHeader: Bool, _ isInBody: Bool
  ) async throws {
    try await LiveService.run(text) { service async throws in
      let refused = try await service.create()
      #expect(refused.status == 429 && refused.json["retryable"] as? Bool == true)
      let header = refused.headers["Retry-After"]
      #expect((header != nil) == isInHeader)
      if text.hasPrefix("limit-date") {
        // 1,800,000,007 seconds after 1970.
        #expect(header == "Fri, 15 Jan 2027 08:00:07 GMT")
      } else if isInHeader {
        #expect(header == "7")
      }
      #expect(refused.json["retryAfterMs"] as? Int == (isInBody ? 7000 : nil))
      service.time.pass(seconds: 6)
      #expect(try await service.create().status == 429)
      service.time.pass(seconds: 1)
      #expect(try await service.create().status == 202)
    }
  }

  @Test(arguments: [
    ("strip-books", "resultsUrl"), ("empty-complete", "{}"),
  ])
  func `complete comes without its books`(_ text: String, _ expected: String) async throws {
    try await LiveService.run(text) { service async throws in
      let job = try await service.job()
      let last = try #require(try await job.events().events.last)
      #expect(last.name == "complete" && last.data.contains(expected))
      #expect(!last.data.contains("Solaris"))
      #expect((try await job.results().data["results"] as? [Any])?.count == 2)
    }
  }

  @Test func `a clean-up that fails leaves the job`() async throws {
    try await LiveService.run("fail-clean-up:1") { service async throws in
      let job = try await service.job()
      #expect(try await job.clean().status == 500)
      #expect(try await service.counts().jobsAlive == 1)
      #expect(try await job.clean().status == 204)
      #expect(try await service.counts().jobsAlive == 0)
    }
  }

  @Test func `a stream of pings has nothing else`() async throws {
    var limits = ScanLimits()
    limits.pingInterval = .milliseconds(10)
    try await LiveService.run("pings-only", limits: limits) { service async throws in
      let (events, _) = try await service.job().events(enough: 3)
      #expect(events.map(\.name) == ["ping", "ping", "ping"])
      #expect(Set(events.map(\.id)).count == 3)
    }
  }

  @Test func `warnings come in both forms`() async throws {
    try await LiveService.run("degraded") { service async throws in
      let warnings = try await service.job().events().events
        .filter { $0.name == "enrichment_degraded" }
      #expect(warnings.count == 2)
      #expect(warnings[0].data.contains("fallbackSource"))
      #expect(warnings[1].data.contains("failedFields"))
    }
  }

  @Test func `a token can be too old from the beginning, once`() async throws {
    try await LiveService.run("expired-token:1") { service async throws in
      #expect(try await service.job().results().code == "TOKEN_EXPIRED")
      #expect(try await service.job().results().status == 200)
    }
  }

  @Test func `the day's quota can be used up at once`() async throws {
    try await LiveService.run("daily-quota:1") { service async throws in
      let refused = try await service.create()
      #expect(refused.code == "DAILY_QUOTA_EXCEEDED")
      #expect(refused.headers["Retry-After"] == "57600")
      #expect(try await service.create().status == 202)
    }
  }

  @Test func `results and streams can fail`() async throws {
    try await LiveService.run("fail-results:1,stream-error:1") { service async throws in
      let job = try await service.job()
      let last = try #require(try await job.events().events.last)
      #expect(last.name == "error" && last.data.contains(#""retryable":true"#))
      #expect(try await job.results().status == 500)
      #expect(try await job.results().status == 200)
    }
  }

  @Test func `an answer can be late`() async throws {
    try await LiveService.run("delay=200:1") { service async throws in
      // real time: the service waits by the system's clock.
      let start = ContinuousClock.now
      _ = try await service.job()
      #expect(ContinuousClock.now - start >= .milliseconds(200))
    }
  }

  @Test func `it is asked for while the service runs`() async throws {
    try await LiveService.run { service async throws in
      func ask(_ text: String) async throws -> Int {
        try await service.send(.post, "/control/misbehave", body: .bytes(Array(text.utf8))).status
      }
      #expect(try await ask("daily-quota") == 204)
      #expect(try await service.create().status == 429)
      #expect(try await ask("") == 204)
      #expect(try await service.create().status == 202)
      #expect(try await ask("daily-quota:0") == 400)
      #expect(try await ask("nonsense") == 400)
    }
  }
}
