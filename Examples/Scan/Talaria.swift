import ExampleService
import Foundation
@_spi(Rehearsal) import Tern
import TernJobs
import TernNetwork

/// The scan service, as its contract has it; ../Recognizer speaks the same.
struct Talaria: Sendable {
  private let service: HTTPService
  /// The same, asked about a job that it has made.
  private let jobService: HTTPService

  init(_ url: URL, deviceID: String) {
    let isPrivate = ServiceAddress.isPrivate(url)
    func service(_ isOwn: @escaping @Sendable (HTTPProblem) -> Bool) -> HTTPService {
      HTTPService(url, headers: ["X-Device-ID": deviceID], recognizing: isOwn)
    }
    self.service = service(Self.isInForm)
    // That a job is gone, or its token too old, may come without any form, but only from where nobody
    // else can say it.
    jobService = service {
      Self.isInForm($0) || (isPrivate && [401, 403, 404, 410].contains($0.status))
    }
  }

  /// Whether the service says it: its refusals have a problem's members, which a portal's page has
  /// not.
  private static func isInForm(_ problem: HTTPProblem) -> Bool {
    problem.code != nil || problem.title != nil || problem.type != nil
  }

  /// Whether it is the service that answers, before a photo goes to who has once answered in its
  /// place: nobody has this job, and the service says so.
  ///
  /// - Throws: `HTTPError`, with `.notTheService` where it is somebody else.
  func look() async throws {
    let request = try service.request(
      .get, "/v3/jobs/scans/00000000-0000-4000-8000-000000000000/status", timeout: .seconds(30))
    do {
      _ = try await service.json(Answered.self, in: service.answer(to: request))
    } catch is HTTPProblem {
    } catch let error as HTTPError where error.code == .unexpectedBody {}
  }

  /// A job at the service.
  struct Ticket: Codable, Sendable {
    var jobID, streamURL: String
    /// The first is missing in the older contract.
    var token, quota: String?
    /// When the quota is whole again, in seconds since 1970.
    var quotaEnds: Int64?
  }

  func create(_ photo: URL) async throws -> Ticket {
    var form = MultipartForm()
    form.add("photos[]", file: FileSegment(photo.path), named: "shelf.jpg", type: "image/jpeg")
    let request = try service.request(
      .post, "/v3/jobs/scans", body: .form(form), timeout: .seconds(120),
      idleTimeout: .seconds(30))
    let response = try await service.answer(to: request)
    try CrashPoint.reach(.scanAfterSend)
    let created = try await service.json(Created.self, in: response)
    guard let jobID = created.data?.jobId ?? created.jobId,
      let stream = created.data?.sseUrl ?? created.streamUrl
    else { throw JobFailure(.failed, "the service took the photo and named no job") }
    return Ticket(
      jobID: jobID, streamURL: stream, token: created.data?.authToken,
      quota: response.headers["X-RateLimit-Remaining"],
      quotaEnds: response.headers["X-RateLimit-Reset"].flatMap(Int64.init))
  }

  /// - Returns: `nil` when the service has nothing more to say.
  func events(
    _ ticket: Ticket, after last: String?, within limit: Duration
  ) async throws -> (HTTPRequest, EventStream)? {
    let request = try jobService.request(
      .get, ticket.streamURL, bearer: ticket.token, timeout: limit,
      // The service says something every 30 seconds; two of these may be late.
      idleTimeout: .seconds(75))
    return try await jobService.events(from: request, after: last ?? "").map { (request, $0) }
  }

  /// - Parameter resultsURL: where the service said that they are. One that can't be asked for, empty
  ///   or at another host for example, is no reason to lose them: the contract has a place, too.
  func results(_ ticket: Ticket, at resultsURL: String?) async throws -> LossyArray<FoundBook> {
    func request(_ reference: String) throws -> HTTPRequest {
      try jobService.request(.get, reference, bearer: ticket.token, timeout: .seconds(60))
    }
    let named = resultsURL.flatMap { $0.isEmpty ? nil : try? request($0) }
    let asked = try named ?? request("/v3/jobs/scans/\(ticket.jobID)/results?format=lite")
    let answer = try await jobService.json(Answered.self, in: jobService.answer(to: asked)).data
    // Taken for granted where the service does not say.
    let status = answer.status?.lowercased() ?? "complete"
    if status.hasPrefix("fail") || status.hasPrefix("cancel") { throw Lost() }
    guard let found = answer.results ?? answer.books, status.hasPrefix("complete") else {
      throw JobFailure(.failed, "the scan isn't finished at the service")
    }
    return found
  }

  /// Removes what the service keeps of a job; that it is gone already is as good. With a token that
  /// has expired nobody can: the service forgets the job by itself.
  func cleanUp(_ ticket: Ticket) async throws {
    let request = try jobService.request(
      .delete, "/v3/jobs/scans/\(ticket.jobID)/cleanup", bearer: ticket.token,
      timeout: .seconds(30))
    try CrashPoint.reach(.scanBeforeCleanUp)
    do {
      _ = try await jobService.answer(to: request)
    } catch let error where Self.meansLost(error) {}
    try CrashPoint.reach(.scanAfterCleanUp)
  }

  /// The service's job came to nothing, or nobody can have it any more; another may fare better.
  static func meansLost(_ error: any Error) -> Bool {
    switch error {
    case let problem as HTTPProblem: [401, 403, 404, 410].contains(problem.status)
    case let problem as EventProblem: problem.advice == .failed
    case let error as HTTPError: error.code == .otherOrigin
    default: error is Lost
    }
  }

  private struct Lost: Error, CustomStringConvertible {
    let description = "the service could not scan the photo"
  }

  private struct Created: Decodable {
    struct Job: Decodable {
      var jobId, sseUrl: String
      var authToken: String?
    }
    var data: Job?
    var jobId, streamUrl: String?
  }

  struct Answered: Decodable {
    struct Results: Decodable {
      var status: String?
      var results, books: LossyArray<FoundBook>?
    }
    var data: Results
  }

  /// What an event says; which of these it has depends on its kind.
  struct News: Codable, Sendable {
    var message, status, currentItem, resultsUrl: String?
    var progress: Double?
    var processedCount, totalCount: Int?
    var books: LossyArray<FoundBook>?

    var text: String { [message ?? status, currentItem].compactMap(\.self).joined(separator: " ") }

    /// The service says 0 to 1 or 0 to 100, or counts.
    var fraction: Double? {
      if let progress { return progress > 1 ? progress / 100 : progress }
      guard let processedCount, let totalCount, totalCount > 0 else { return nil }
      return Double(processedCount) / Double(totalCount)
    }
  }
}
