import Foundation
import Tern
import Testing

@testable import RecognizerKit

@Suite("The scan contract", .timeLimit(.minutes(1)))
struct ContractTests {
  @Test func `a photo becomes a job, a stream, results and nothing`() async throws {
    try await LiveService.run { service async throws in
      let job = try await service.job()
      let (events, wasCut) = try await job.events()
      #expect(!wasCut)
      #expect(events.map(\.name) == ["progress", "result", "result", "progress", "complete"])
      for event in events {
        #expect(
          event.id.hasSuffix("-\(event.name)") && Int64(event.id.split(separator: "-")[0]) != nil)
      }
      #expect(
        events[1].data
          == #"{"author":"A","confidence":0.93,"enrichmentStatus":"success","#
          + #""isbn":"0156027607","title":"Solaris"}"#
      )
      let results = try await job.results()
      let books = try #require(results.data["results"] as? [[String: Any]])
      #expect(books.compactMap { $0["title"] as? String } == ["Solaris", "Harbor"])
      let status = try await service.send(.get, job.statusPath)
      #expect(status.data["status"] as? String == "completed")
      #expect(try await job.clean().status == 204)
      #expect(try await job.clean().status == 404)
      await #expect(throws: Answer.self) { try await job.events() }
      #expect(try await service.counts().jobsCleaned == 1)
    }
  }

  @Test func `what a stream did not bring is sent after the last event's id`() async throws {
    try await LiveService.run("cut-stream=2:1") { service async throws in
      let job = try await service.job()
      let first = try await job.events()
      #expect(first.wasCut && first.events.count <= 2)
      let rest = try await job.events(after: first.events.last?.id ?? "0-none")
      let names = (first.events + rest.events).map(\.name)
      #expect(names == ["progress", "result", "result", "progress", "complete"])
    }
  }

  @Test func `a stream without the last id loses what was sent, and still ends`() async throws {
    try await LiveService.run { service async throws in
      let job = try await service.job()
      _ = try await job.events()
      #expect(try await job.events().events.map(\.name) == ["complete"])
    }
  }

  @Test func `an event that was sent is kept for a minute`() async throws {
    try await LiveService.run { service async throws in
      let job = try await service.job()
      _ = try await job.events()
      service.time.pass(seconds: 60)
      #expect(try await job.events(after: "0-none").events.count == 5)
      service.time.pass(seconds: 1)
      #expect(try await job.events(after: "0-none").events.map(\.name) == ["complete"])
    }
  }

  @Test func `a token is good for two hours`() async throws {
    try await LiveService.run { service async throws in
      let job = try await service.job()
      service.time.pass(seconds: 2 * 3600 - 1)
      #expect(try await job.results().status == 200)
      service.time.pass(seconds: 1)
      let late = try await job.results()
      #expect(late.status == 401 && late.code == "TOKEN_EXPIRED")
    }
  }

  @Test func `a job is shown to its own device, with its token`() async throws {
    try await LiveService.run { service async throws in
      let job = try await service.job()
      let path = "/v3/jobs/scans/\(job.id)/results"
      var other = job.headers
      other["X-Device-ID"] = UUID().uuidString
      #expect(try await service.send(.get, path, headers: other).status == 403)
      other = job.headers
      other["Authorization"] = "Bearer nonsense"
      #expect(try await service.send(.get, path, headers: other).code == "INVALID_TOKEN")
      let unknown = try await service.send(
        .get, "/v3/jobs/scans/nobody/stream", headers: job.headers)
      #expect(unknown.status == 404 && unknown.json["retryable"] as? Bool == false)
      #expect(unknown.headers["Content-Type"] == "application/problem+json")
    }
  }

  @Test func `what is no request for a scan is refused by its reason`() async throws {
    var limits = ScanLimits()
    limits.photoBytes = 1000
    // The header of a PNG with 10,000 million pixels.
    let huge =
      PictureHeader.pngSignature + [0, 0, 0, 13] + Array("IHDR".utf8) + [0, 1, 0x86, 0xA0]
      + [0, 1, 0x86, 0xA0, 8, 2, 0, 0, 0]
    try await LiveService.run(limits: limits) { service async throws in
      let photo = LiveService.photo
      func code(_ answer: Answer) -> String { "\(answer.status) \(answer.code ?? "")" }
      #expect(code(try await service.create(device: nil)) == "400 INVALID_DEVICE_ID")
      let old = "0d8e0a3c-5f0e-1c7a-9f51-0f6b0a7a1d11"
      #expect(code(try await service.create(device: old)) == "400 INVALID_DEVICE_ID")
      let six = Array(repeating: photo, count: 6)
      #expect(code(try await service.create(six)) == "400 INVALID_PHOTO_COUNT")
      #expect(code(try await service.create(field: "file")) == "400 INVALID_PHOTO_COUNT")
      let large = photo + Array(repeating: 0, count: 1000)
      #expect(code(try await service.create([photo, large])) == "413 PHOTO_TOO_LARGE")
      #expect(code(try await service.create([huge])) == "413 PHOTO_TOO_LARGE")
      #expect(code(try await service.create([[1, 2, 3]])) == "415 UNSUPPORTED_PHOTO")
      #expect(try await service.counts().jobsCreated == 0)
    }
  }

  @Test func `a device has so many scans a day`() async throws {
    var limits = ScanLimits()
    limits.jobsPerDay = 2
    try await LiveService.run(limits: limits) { service async throws in
      let first = try await service.create()
      #expect(first.headers["X-RateLimit-Remaining"] == "1")
      _ = try await service.job()
      let refused = try await service.create()
      #expect(refused.status == 429 && refused.code == "DAILY_QUOTA_EXCEEDED")
      #expect(refused.headers["X-RateLimit-Remaining"] == "0")
      let milliseconds = try #require(refused.json["retryAfterMs"] as? Int)
      service.time.pass(seconds: Int64(milliseconds / 1000))
      #expect(try await service.create().status == 202)
    }
  }

  @Test func `books beyond the limit of an event are to be fetched`() async throws {
    var limits = ScanLimits()
    limits.completeBytes = 100
    try await LiveService.run(limits: limits) { service async throws in
      let job = try await service.job()
      let last = try #require(try await job.events().events.last)
      #expect(last.data == #"{"resultsUrl":"/v3/jobs/scans/\#(job.id)/results?format=lite"}"#)
    }
  }

  @Test func `a damaged photo ends in an error that is not to be tried again`() async throws {
    let read: RecognizerApplication.Read = { _, _ in throw UnreadablePhoto() }
    try await LiveService.run(read: read) { service async throws in
      let events = try await service.job().events().events
      #expect(events.map(\.name) == ["progress", "error"])
      #expect(events[1].data.contains(#""code":"UNREADABLE_PHOTO""#))
      #expect(events[1].data.contains(#""retryable":false"#))
    }
  }
}
