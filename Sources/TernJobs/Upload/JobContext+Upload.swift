import Foundation
import TernCore
import TernNetwork

extension JobContext {
  /// Uploads a file of the job, as a step that goes on while the app is suspended and in other
  /// lives of its process, as far as the worker's ``BackgroundTransfers`` do.
  ///
  /// ```swift
  /// let response = try await context.upload("send", request, file: "photo")
  /// ```
  ///
  /// Until there is an answer it ends the attempt, at no cost, by a `CancellationError`: let that
  /// through. The handler runs again when the answer is stored, which is returned in that attempt
  /// and all later ones. What stands before it runs again too, unless it is a step.
  ///
  /// The upload happens at least once. All that is sent for one job by one name has the same
  /// `Idempotency-Key`, ``JobContext/idempotencyKey(_:)`` of the name, unless the request has one
  /// of its own. A new request is made in each attempt, so its token is a fresh one; it
  /// is not stored.
  ///
  /// - Parameters:
  ///   - name: as of a step, and no step's. ASCII, since it is sent.
  ///   - request: without a body.
  ///   - file: which of the job's files is the body; not to be released before there is an answer.
  ///   - limit: how long it may take, over attempts that fail of nothing. Then it is cancelled,
  ///     which counts unless the network was away or changed meanwhile.
  /// - Returns: the answer with a status of 200 to 299, with its whole body; the same in every
  ///   attempt. What may not be what was hoped for
  ///   is for ``upload(_:_:file:within:isolation:read:)``.
  /// - Throws:
  ///   - `CancellationError` until there is an answer.
  ///   - ``HTTPProblem`` for every other status, without its texts, in which a service may repeat
  ///     what it was sent.
  ///   - ``HTTPError``. `.bodyTooLarge` is permanent: the answer is over the limit of
  ///     ``BackgroundTransfers``, or over three quarters of ``JobLimits/checkpointBytes``.
  ///   - ``JobFailure`` where it took too long, or where the worker has no ``BackgroundTransfers``.
  ///   - ``JobQueueError`` `.noSuchFile`, `.duplicateStep`, `.tooManyCheckpoints`, `.notRunning`,
  ///     `.unreadable`.
  ///   - `DatabaseError`.
  ///
  ///   Each failure of an upload is thrown once; the next attempt begins a new upload.
  public func upload(
    _ name: String, _ request: HTTPRequest, file: String,
    within limit: Duration = .seconds(7 * 86_400)
  ) async throws -> HTTPResponse {
    precondition(request.body == .empty, "the file is the body of an upload")
    let end = try await transfer(name, by: UploadSystem.self, within: limit) { id, system in
      var request = request
      if request.headers["Idempotency-Key"] == nil {
        request.headers["Idempotency-Key"] = idempotencyKey(name)
      }
      try await system.transfers.begin(id, request, file: self.file(file))
    }
    switch end {
    case .done(let content), .refused(let content):
      switch try StoredAnswer(reading: content, of: name).answer {
      case .failure(let error): throw error
      case .response(let status, let headers, let body):
        let response = HTTPResponse(status: status, headers: headers, body: HTTPBody(body))
        if TransferAnswer.isWanted(status) { return response }
        var problem = try await HTTPProblem(response, to: request)
        // Which token it repeats is not known: an earlier attempt sent that.
        (problem.title, problem.detail, problem.instance) = (nil, nil, nil)
        throw problem
      }
    case .late:
      throw JobFailure(
        .interrupted(isLocal: false), "the upload “\(name)” took longer than \(limit)")
    }
  }

  /// Uploads a file of the job, and reads the answer, in each attempt that asks for it.
  ///
  /// ```swift
  /// let titles = try await context.upload("send", request, file: "photo") {
  ///   try await $0.json([String].self)
  /// }
  /// ```
  ///
  /// - Parameter read: reads, and does nothing else. Where it throws, the attempt that fails of it
  ///   drops the answer: the next one begins a new upload, under the same `Idempotency-Key`.
  /// - Throws: what `read` throws; as ``upload(_:_:file:within:)``, whose other parameters
  ///   are the same.
  public func upload<R>(
    _ name: String, _ request: HTTPRequest, file: String,
    within limit: Duration = .seconds(7 * 86_400), isolation: isolated (any Actor)? = #isolation,
    read: (HTTPResponse) async throws -> R
  ) async throws -> R {
    let response = try await upload(name, request, file: file, within: limit)
    do {
      return try await read(response)
    } catch {
      reject(transfer: name)
      throw error
    }
  }
}

/// Uploads as the queue sees them.
struct UploadSystem: TransferSystem {
  let transfers: any BackgroundTransfers
  /// What a queue stores of an answer, in bytes.
  let limit: Int

  var endsWithProcess: Bool { transfers.endsWithProcess }
  func ids() async -> Set<String> { await transfers.ids() }
  func forget(_ id: String) async { await transfers.forget(id) }

  func run(_ take: @escaping @Sendable (TransferNews) async -> Void) async {
    await transfers.run { id, answer in
      await take(StoredAnswer(answer, limit: limit).news(of: id))
    }
  }
}
