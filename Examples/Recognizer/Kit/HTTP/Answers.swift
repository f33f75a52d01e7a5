import ExampleService
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

extension HTTPField.Name {
  static let deviceID = Self("X-Device-ID")!
  static let lastEventID = Self("Last-Event-ID")!
  static let limit = Self("X-RateLimit-Limit")!
  static let remaining = Self("X-RateLimit-Remaining")!
  /// Seconds since 1970.
  static let reset = Self("X-RateLimit-Reset")!
}

extension HTTPFields {
  mutating func tell(_ quota: Quota) {
    self[.limit] = String(quota.limit)
    self[.remaining] = String(quota.remaining)
    self[.reset] = String(quota.resets / 1000)
  }
}

extension Response {
  init(json text: String, status: HTTPResponse.Status = .ok, type: String = "application/json") {
    self.init(
      status: status, headers: [.contentType: type],
      body: .init(byteBuffer: ByteBuffer(string: text)))
  }

  /// The answer that refuses a request.
  init(_ problem: Problem, path: String, now: Int64) {
    let status = HTTPResponse.Status(code: problem.status)
    let document = ProblemDocument(
      type: "urn:recognizer:problem:\(problem.code)", title: problem.title,
      status: problem.status, detail: problem.detail, instance: path, code: problem.code,
      retryable: problem.isRetryable,
      retryAfterMs: problem.isInBody ? problem.retryAfterMilliseconds : nil,
      metadata: MetadataDocument(now: now, quota: problem.quota))
    self.init(json: json(document), status: status, type: "application/problem+json")
    if problem.status == 401 { headers[.wwwAuthenticate] = "Bearer" }
    if let quota = problem.quota { headers.tell(quota) }
    guard let wait = problem.retryAfterMilliseconds else { return }
    switch problem.header {
    case .none: break
    case .seconds: headers[.retryAfter] = String((wait + 999) / 1000)
    case .date:
      headers[.retryAfter] = httpDate(
        Date(timeIntervalSince1970: Double((now + wait + 999) / 1000)))
    }
  }
}
