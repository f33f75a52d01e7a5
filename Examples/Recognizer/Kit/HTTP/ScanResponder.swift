import ExampleService
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// Answers every request: the contract, and the control of what goes wrong.
struct ScanResponder: HTTPResponder {
  typealias Context = CuttableContext

  let board: ScanBoard
  let bench: Workbench
  let mischief: Mischief
  let clock: ScanClock

  func respond(to request: Request, context: CuttableContext) async throws -> Response {
    do {
      return try await answer(request, context)
    } catch let problem as Problem {
      await board.refused(problem)
      return Response(problem, path: request.uri.path, now: clock.nowMilliseconds)
    }
  }

  private func answer(_ request: Request, _ context: CuttableContext) async throws -> Response {
    let path = request.uri.path.split(separator: "/").map { Substring($0) }
    if path.first == "control" { return try await control(request, path.dropFirst().first) }
    if let delay = mischief.take(.delay) {
      try await Task.sleep(for: .milliseconds(delay.value ?? 1000))
    }
    guard path.starts(with: ["v3", "jobs", "scans"]) else { throw Problem.noSuchPath }
    switch (request.method, path.count, path.dropFirst(4).first) {
    case (.post, 3, _): return try await create(request, context)
    case (.get, 5, "stream"):
      return stream(try await job(path[3], request), request, context)
    case (.get, 5, "results"):
      let job = try await job(path[3], request)
      guard mischief.take(.failResults) == nil else { throw Problem.failedAsAsked }
      return reply(
        ResultsDocument(jobId: job.id, status: job.status.name, results: job.books))
    case (.get, 5, "status"):
      let job = try await board.job(path[3])
      return reply(
        StatusDocument(
          jobId: job.id, status: job.status.name, processedCount: job.status.photosDone,
          totalCount: job.photoCount))
    case (.delete, 5, "cleanup"):
      guard mischief.take(.failCleanUp) == nil else { throw Problem.failedAsAsked }
      await board.clean(try await job(path[3], request))
      return Response(status: .noContent)
    case (_, 3, _), (_, 5, "stream"), (_, 5, "results"), (_, 5, "status"), (_, 5, "cleanup"):
      throw Problem(405, "METHOD_NOT_ALLOWED", "this path takes another method")
    default: throw Problem.noSuchPath
    }
  }

  private func create(_ request: Request, _ context: CuttableContext) async throws -> Response {
    let device = try device(request)
    if mischief.take(.dailyQuota) != nil {
      throw ScanBoard.quotaExceeded(await board.quota(of: device), clock.nowMilliseconds)
    }
    if let refusal = mischief.refusal(now: clock.nowMilliseconds) { throw refusal }
    let photos = try await PhotoForm(limits: board.limits).photos(request)
    let (job, quota) = try await board.create(
      device: device, photoHashes: photos.map { "\(PhotoMemory.Photo($0).hash)" },
      bytes: photos.reduce(0) { $0 + $1.count },
      tokenIsExpired: mischief.take(.expiredToken) != nil)
    for photo in photos { bench.add(.init(job: job, photo: photo)) }
    if mischief.take(.dropAccepted) != nil {
      context.cut()
      throw ConnectionCut()
    }
    if mischief.take(.gatewayTimeout) != nil { throw Problem.unheardAsAsked }
    let root = "/v3/jobs/scans/\(job.id)"
    let host = mischief.take(.foreignStream) == nil ? "" : "http://stream.invalid"
    let document = CreatedDocument(
      jobId: job.id, sseUrl: "\(host)\(root)/stream", authToken: job.token,
      statusUrl: "\(root)/status")
    var response = reply(
      document, .accepted, quota: quota,
      links: [
        "self": ["href": root], "stream": ["href": document.sseUrl],
        "status": ["href": document.statusUrl], "results": ["href": "\(root)/results"],
        "cleanup": ["href": "\(root)/cleanup"],
      ])
    response.headers.tell(quota)
    return response
  }

  /// What the request may see: with the job's token, from the job's device.
  private func job(_ id: Substring, _ request: Request) async throws -> ScanJob {
    let words = (request.headers[.authorization] ?? "").split(separator: " ")
    let token = words.count == 2 && words[0].lowercased() == "bearer" ? String(words[1]) : nil
    return try await board.job(id, device: try device(request), token: token)
  }

  /// - Source: RFC 9562, section 5.4: version 4, variant 10.
  private func device(_ request: Request) throws -> String {
    let text = (request.headers[.deviceID] ?? "").lowercased()
    let characters = Array(text)
    guard UUID(uuidString: text) != nil, characters.count == 36, characters[14] == "4",
      "89ab".contains(characters[19])
    else {
      throw Problem(400, "INVALID_DEVICE_ID", "send X-Device-ID with a UUID of version 4")
    }
    return text
  }

  private func reply(
    _ document: some Encodable, _ status: HTTPResponse.Status = .ok, quota: Quota? = nil,
    links: [String: [String: String]]? = nil
  ) -> Response {
    let metadata = MetadataDocument(now: clock.nowMilliseconds, quota: quota)
    return Response(
      json: json(Envelope(data: document, metadata: metadata, _links: links)), status: status)
  }
}

extension Problem {
  static let noSuchPath = Problem(404, "NOT_FOUND", "there is nothing at this path")
  static let failedAsAsked = asAsked(500, "INTERNAL_ERROR", "something went wrong")
  static let unheardAsAsked = asAsked(504, "GATEWAY_TIMEOUT", "no answer came in time")

  private static func asAsked(_ status: Int, _ code: String, _ detail: String) -> Problem {
    var problem = Problem(status, code, detail + ", as asked for")
    problem.isRetryable = true
    return problem
  }
}
