import Foundation
import Logging
import ServiceLifecycle
import Synchronization
import Tern
import TernJobs
import TernNetwork
import Testing

@testable import RecognizerKit

/// A service on a free port of this machine.
struct LiveService {
  let root: String
  /// The service's clock, which stands until it is moved.
  let time: HandTime

  static let device = "0d8e0a3c-5f0e-4c7a-9f51-0f6b0a7a1d11"
  /// The first bytes of a JPEG, which is all that is asked of a photo before it is read.
  static let photo: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 1, 2, 3]

  /// Finds two books in every photo, the second one less surely.
  static let twoBooks: RecognizerApplication.Read = { _, found in
    found(Finding(book: book("Solaris", "0156027607"), confidence: 0.93))
    found(Finding(book: book("Harbor", nil), confidence: 0.5))
  }

  static func book(_ title: String, _ isbn: String?) -> CatalogueBook {
    CatalogueBook(title: title, originalTitle: nil, authors: ["A"], isbn: isbn, coverURL: nil)
  }

  /// Runs `body` against a service, then shuts it down gracefully and waits for its end.
  static func run(
    _ misbehaviour: String = "", limits: ScanLimits = ScanLimits(),
    read: @escaping RecognizerApplication.Read = twoBooks,
    _ body: (LiveService) async throws -> Void
  ) async throws {
    let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
    let logger = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
    let time = HandTime()
    var service = RecognizerApplication(logger: logger, read: read)
    service.limits = limits
    service.clock = ScanClock { time.now.withLock { $0 } }
    service.misbehaviour = try Misbehaviour.list(misbehaviour)
    service.onListening = {
      continuation.yield($0)
      continuation.finish()
    }
    let group = ServiceGroup(configuration: .init(services: [service], logger: logger))
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask {
        defer { continuation.finish() }
        try await group.run()
      }
      var hasListened = false
      for await port in ports {
        hasListened = true
        try await body(LiveService(root: "http://127.0.0.1:\(port)", time: time))
      }
      await group.triggerGracefulShutdown()
      try await tasks.waitForAll()
      #expect(hasListened)
    }
  }

  func send(
    _ method: HTTPRequest.Method, _ path: String, headers: HTTPHeaders = [:],
    body: HTTPRequest.Body = .empty
  ) async throws -> Answer {
    let response = try await SystemTransport.shared.send(
      HTTPRequest(method, root + path, headers: headers, body: body, timeout: .seconds(60)))
    return Answer(
      status: response.status, headers: response.headers,
      bytes: try await response.collect(limit: 1 << 20))
  }

  /// Asks for a job; `field` and `device` as a wrong client has them.
  func create(
    _ photos: [[UInt8]] = [photo], field: String = "photos[]", device: String? = device
  ) async throws -> Answer {
    var form: [UInt8] = []
    for photo in photos {
      form += Array(
        "--edge\r\nContent-Disposition: form-data; name=\"\(field)\"; filename=\"p\"\r\n".utf8)
      form += Array("Content-Type: image/jpeg\r\n\r\n".utf8) + photo + Array("\r\n".utf8)
    }
    form += Array("--edge--\r\n".utf8)
    var headers: HTTPHeaders = ["Content-Type": "multipart/form-data; boundary=edge"]
    headers["X-Device-ID"] = device
    return try await send(.post, "/v3/jobs/scans", headers: headers, body: .bytes(form))
  }

  func job(_ photos: [[UInt8]] = [photo]) async throws -> Job {
    let answer = try await create(photos)
    guard answer.status == 202, let job = Job(answer, self) else { throw answer }
    return job
  }

  func counts() async throws -> CountsDocument {
    let answer = try await send(.get, "/control/counts")
    return try JSONDecoder().decode(CountsDocument.self, from: Data(answer.bytes))
  }
}

/// A wall clock that is moved by hand.
final class HandTime: Sendable {
  let now = Mutex<Int64>(1_800_000_000_000)

  func pass(seconds: Int64) { now.withLock { $0 += seconds * 1000 } }
}

struct Answer: Error {
  let status: Int
  let headers: HTTPHeaders
  let bytes: [UInt8]

  var json: [String: Any] {
    (try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]) ?? [:]
  }
  var data: [String: Any] { json["data"] as? [String: Any] ?? [:] }
  var code: String? { json["code"] as? String }
}

/// A job as its client knows it.
struct Job {
  let id: String
  let streamPath: String
  let statusPath: String
  let headers: HTTPHeaders
  private let service: LiveService

  init?(_ answer: Answer, _ service: LiveService) {
    guard let id = answer.data["jobId"] as? String, let stream = answer.data["sseUrl"] as? String,
      let token = answer.data["authToken"] as? String,
      let status = answer.data["statusUrl"] as? String
    else { return nil }
    (self.id, streamPath, statusPath, self.service) = (id, stream, status, service)
    headers = ["X-Device-ID": LiveService.device, "Authorization": "Bearer \(token)"]
  }

  /// The events until the stream ends or `enough` of them came; whether it was cut off.
  func events(
    after lastEventID: String? = nil, enough: Int = .max
  ) async throws -> (events: [ServerEvent], wasCut: Bool) {
    var headers = headers
    headers["Last-Event-ID"] = lastEventID
    let response = try await SystemTransport.shared.send(
      HTTPRequest(.get, service.root + streamPath, headers: headers, timeout: .seconds(60)))
    guard response.status == 200 else {
      throw Answer(
        status: response.status, headers: response.headers,
        bytes: try await response.collect(limit: 1 << 20))
    }
    var parser = EventStreamParser()
    var events: [ServerEvent] = []
    do {
      for try await chunk in response.body {
        for case .event(let event) in try parser.consume(chunk) { events.append(event) }
        if events.count >= enough { return (Array(events.prefix(enough)), false) }
      }
    } catch is HTTPError {
      return (events, true)
    }
    return (events, false)
  }

  func results() async throws -> Answer {
    try await service.send(.get, "/v3/jobs/scans/\(id)/results?format=lite", headers: headers)
  }

  func clean() async throws -> Answer {
    try await service.send(.delete, "/v3/jobs/scans/\(id)/cleanup", headers: headers)
  }
}
