import Foundation
@_spi(Rehearsal) import Tern

/// The scan service, as its contract has it; ../Recognizer speaks the same.
struct Talaria: Sendable {
  private let service: HTTPService

  init(_ url: URL, deviceID: String) {
    service = HTTPService(url, headers: ["X-Device-ID": deviceID])
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
    let created = try await response.json(Created.self)
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
    let request = try service.request(
      .get, ticket.streamURL, bearer: ticket.token, timeout: limit,
      // The service says something every 30 seconds; two of these may be late.
      idleTimeout: .seconds(75))
    return try await EventStream.open(request, after: last ?? "", over: service.transport)
      .map { (request, $0) }
  }

  func results(_ ticket: Ticket, at resultsURL: String?) async throws -> LossyArray<FoundBook> {
    let request = try service.request(
      .get, resultsURL ?? "/v3/jobs/scans/\(ticket.jobID)/results?format=lite",
      bearer: ticket.token, timeout: .seconds(60))
    let answer = try await service.answer(to: request).json(Answered.self).data
    // Taken for granted where the service does not say.
    let status = answer.status ?? "complete"
    if status.hasPrefix("fail") || status.hasPrefix("cancel") { throw Lost() }
    guard let found = answer.results ?? answer.books, status.hasPrefix("complete") else {
      throw JobFailure(.failed, "the scan isn't finished at the service")
    }
    return found
  }

  /// Removes what the service keeps of a job; that it is gone already is as good. With a token that
  /// has expired nobody can: the service forgets the job by itself.
  func cleanUp(_ ticket: Ticket) async throws {
    let request = try service.request(
      .delete, "/v3/jobs/scans/\(ticket.jobID)/cleanup", bearer: ticket.token,
      timeout: .seconds(30))
    try CrashPoint.reach(.scanBeforeCleanUp)
    do {
      _ = try await service.answer(to: request)
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
