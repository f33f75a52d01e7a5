import Foundation
import Tern

/// The scan service, as its contract has it; ../Recognizer speaks the same.
struct Talaria: Sendable {
  let base: URL
  let deviceID: String
  let transport: any HTTPTransport

  /// A job at the service.
  struct Ticket: Codable, Sendable {
    var jobID: String
    var streamURL: String
    /// Missing in the older contract.
    var token: String?
    var quota: String?
  }

  func create(_ photo: URL) async throws -> Ticket {
    var form = MultipartForm()
    form.add("photos[]", file: FileSegment(photo.path), named: "shelf.jpg", type: "image/jpeg")
    let request = HTTPRequest(
      .post, url("/v3/jobs/scans"), headers: ["X-Device-ID": deviceID], body: .form(form),
      deadline: .seconds(120), idleTimeout: .seconds(30))
    let response = try await answer(to: request)
    try CrashPoint.reach(.scanAfterSend)
    let created = try await decode(Created.self, response)
    guard let jobID = created.data?.jobId ?? created.jobId,
      let stream = created.data?.sseUrl ?? created.streamUrl
    else { throw ServiceError(.failed, "the service took the photo and named no job") }
    return Ticket(
      jobID: jobID, streamURL: url(stream), token: created.data?.authToken,
      quota: response.headers["X-RateLimit-Remaining"])
  }

  /// How the stream of a job's events is asked for.
  func stream(_ ticket: Ticket, within deadline: Duration) throws -> HTTPRequest {
    var request = try self.request(.get, ticket.streamURL, ticket)
    request.deadline = deadline
    // The service says something every 30 seconds; two of these may be late.
    request.idleTimeout = .seconds(75)
    return request
  }

  func results(_ ticket: Ticket, at resultsURL: String?) async throws -> Results {
    let path = "/v3/jobs/scans/\(ticket.jobID)/results?format=lite"
    var request = try self.request(.get, url(resultsURL ?? path), ticket)
    request.deadline = .seconds(60)
    return try await decode(Envelope<Results>.self, answer(to: request)).data
  }

  /// Removes what the service keeps of a job; that it is gone already is as good. With a token that
  /// has expired nobody can: the service forgets the job by itself.
  func cleanUp(_ ticket: Ticket) async throws {
    var request = try self.request(.delete, url("/v3/jobs/scans/\(ticket.jobID)/cleanup"), ticket)
    request.deadline = .seconds(30)
    do {
      _ = try await answer(to: request)
    } catch let problem as HTTPProblem where problem.meansLost {}
  }

  private func request(
    _ method: HTTPRequest.Method, _ url: String, _ ticket: Ticket
  ) throws -> HTTPRequest {
    // The token belongs to the service, and an absolute URL in its answer may name someone else.
    let origin = try Origin(of: url)
    guard try origin == Origin(of: base.absoluteString) else {
      throw ServiceError(.permanent, "the service sends its client away, to \(origin)")
    }
    var request = HTTPRequest(method, url, headers: ["X-Device-ID": deviceID])
    if let token = ticket.token { request.headers["Authorization"] = "Bearer \(token)" }
    return request
  }

  private func url(_ path: String) -> String {
    URL(string: path, relativeTo: base)?.absoluteString ?? path
  }

  private func answer(to request: HTTPRequest) async throws -> HTTPResponse {
    let response = try await transport.send(request)
    guard 200..<300 ~= response.status else { throw try await HTTPProblem(response, to: request) }
    return response
  }

  private func decode<T: Decodable>(_ type: T.Type, _ response: HTTPResponse) async throws -> T {
    let bytes = try await response.collect(limit: 4 << 20)
    do {
      return try JSONDecoder().decode(type, from: Data(bytes))
    } catch {
      throw ServiceError(.failed, "the service's answer can't be read")
    }
  }

  private struct Created: Decodable {
    struct Job: Decodable {
      var jobId: String
      var sseUrl: String
      var authToken: String?
    }
    var data: Job?
    var jobId: String?
    var streamUrl: String?
  }

  private struct Envelope<T: Decodable>: Decodable {
    var data: T
  }

  struct Results: Decodable, Sendable {
    private var results: FoundBooks?
    private var books: FoundBooks?
    private var status: String?

    var found: FoundBooks? { results ?? books }
    var isFailed: Bool { status.map { $0.hasPrefix("fail") || $0.hasPrefix("cancel") } ?? false }
    /// Taken for granted where the service does not say.
    var isComplete: Bool { status.map { $0.hasPrefix("complete") } ?? true }
  }
}

extension HTTPProblem {
  /// The service has no such job any more, or no longer lets this one see it.
  var meansLost: Bool { [401, 403, 404, 410].contains(status) }
}

/// What the service said or did that stops this attempt.
struct ServiceError: AdvisingError, CustomStringConvertible {
  let advice: FailureAdvice
  let description: String
  /// The service's job came to nothing; another one may not.
  let meansLost: Bool

  init(_ advice: FailureAdvice, _ description: String, meansLost: Bool = false) {
    self.advice = advice
    self.description = description
    self.meansLost = meansLost
  }
}
