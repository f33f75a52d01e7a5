#if Server
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1
import TernCore

/// Answers every request: the server's whole HTTP API, unknown paths included.
struct SyncResponder: HTTPResponder {
  /// Also tells where the answer goes, and by what the log names the request.
  struct Context: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel
    var requestID: RequestID?

    init(source: ApplicationRequestContextSource) {
      coreContext = .init(source: source)
      channel = source.channel
    }
  }

  let service: SpaceService
  let queue: StoreQueue
  let maintenance: Maintenance
  let received: BodyBudget
  let sent: BodyBudget
  let connections: ConnectionBook
  let metrics: ServerMetrics
  let authorizer: any Authorizer
  let requests: TokenRequests
  private let pages: SharedPages
  private let processors: ProcessorAccounts

  init(
    maintenance: Maintenance, authorizer: any Authorizer, received: BodyBudget, sent: BodyBudget,
    connections: ConnectionBook, processors: ProcessorAccounts, metrics: ServerMetrics
  ) {
    service = maintenance.service
    queue = maintenance.queue
    self.maintenance = maintenance
    self.authorizer = authorizer
    self.received = received
    self.sent = sent
    self.connections = connections
    self.processors = processors
    self.metrics = metrics
    pages = SharedPages(queue: queue)
    requests = TokenRequests(limit: service.limits.requestsPerToken)
  }

  func respond(to request: Request, context: Context) async throws -> Response {
    do {
      return try await answer(request, context)
    } catch let gap as SequenceGap {
      return refuse(gap.error, context, expected: gap.expected)
    } catch let error as RemoteError {
      var response = refuse(error, context)
      if error.code == .methodNotAllowed {
        response.headers[.allow] = Route.methods(at: request.uri.path)
      }
      return response
    } catch let error as TooManyRequests {
      return refuse(error.refusal, context, status: .tooManyRequests)
    } catch let error as HTTPParserError {
      // Hummingbird answers and closes the connection.
      throw error
    } catch is CancellationError {
      // Its client left, or the server ends.
      return refuse(
        RemoteError(.unavailable, "the server is ending; try again", retryAfter: .seconds(5)),
        context)
    } catch {
      metrics.storeFailed()
      context.logger.failure("request failed", error)
      // Without a time where it is the disk: a device then goes on pulling at once.
      let isRefusedByDisk = request.method != .get && error.isOfDisk
      return refuse(
        RemoteError(
          .unavailable, "the server could not do this now, and its log says why; try again",
          retryAfter: isRefusedByDisk ? nil : .seconds(5)), context)
    }
  }

  private func refuse(
    _ error: RemoteError, _ context: Context, expected: UInt64? = nil,
    status: HTTPResponse.Status? = nil
  ) -> Response {
    metrics.refused(error.code)
    return Response(error, expected: expected, status: status, request: context.requestID)
  }

  private func answer(_ request: Request, _ context: Context) async throws -> Response {
    // One that is named twice stands among the fields as well.
    guard request.head.authority != nil, request.headers[.host] == nil else {
      throw RemoteError(.malformed, "a request names its host once, in the field Host")
    }
    let name: Substring
    let route: SpaceRoute
    switch try Route(method: request.method, path: request.uri.path) {
    case .health: return Response(json: ["status": "ok"])
    case .openAPI: return OpenAPIDocument.response
    case .spaceEvents: return try await spaceEvents(request, context)
    case .space(let asked, let what): (name, route) = (asked, what)
    }
    // Before anything of it is looked at, whatever it is.
    let grant = try await authorize(request, name, route)
    connections.authorized(context.channel)
    return try await requests.counting(grant.account) {
      try await processors.charging(grant.account) {
        try await answer(request, route, by: grant, context)
      }
    }
  }

  private func answer(
    _ request: Request, _ route: SpaceRoute, by grant: Grant, _ context: Context
  ) async throws -> Response {
    let space = grant.space
    switch route {
    case .greet: return try await greet(request, by: grant, context)
    case .push:
      do {
        return try await push(request, by: grant)
      } catch let error as RemoteError where error.code == .sequenceGap {
        throw SequenceGap(error: error, expected: await expectedSequence(error, in: space))
      }
    case .pull: return try await pull(request, by: grant, context)
    case .events: return try await events(request, by: grant, context)
    case .reportState: return try await reportState(request, by: grant)
    case .beginSnapshot: return try await beginSnapshot(request, by: grant)
    case .completeSnapshot(let id): return try await completeSnapshot(id, by: grant)
    case .putSnapshotPart(let id, let index):
      return try await putSnapshotPart(request, index, of: id, in: space)
    case .snapshotPart(let id, let index):
      return try await snapshotPart(index, of: id, in: space, to: context.channel)
    }
  }

  /// What an authorizer forgets to look at is refused here.
  private func authorize(
    _ request: Request, _ name: Substring, _ route: SpaceRoute
  ) async throws -> Grant {
    let space = try SpaceName(name, limits: service.limits)
    let credential = request.bearerToken
    let grant = try await authorizer.authorize(credential, for: space)
    guard grant.space == space else {
      throw RemoteError(
        .forbidden, "the credential is for another space; use this space's own one")
    }
    if let expires = grant.expires, service.clock.hasPassed(expires) {
      throw RemoteError(
        .unauthorized,
        "the credential expired at \(expires.ISO8601Format()); ask for a new one where it came from"
      )
    }
    // No grant makes a space, or brings a deleted one back.
    if !grant.isOfToken {
      guard let standing = try await queue.read({ try service.store.standing(of: space) }) else {
        throw RemoteError(
          .unauthorized,
          "there is no space \(space), or it was deleted; its operator makes one with 'tern space "
            + "create'")
      }
      try standing.checkIsRead(space)
    }
    guard grant.mayWrite || !route.writes else {
      throw RemoteError(
        .readOnly,
        "the credential may read the space and not write to it; use one that may write")
    }
    return grant
  }

  /// One of many replicas is long.
  private func greet(_ request: Request, by grant: Grant, _ context: Context) async throws
    -> Response
  {
    let (space, member) = (grant.space, grant.member)
    let replica = try Self.replica("replica", in: request)
    if let replica { try await claim(replica, by: grant, context) }
    let (bytes, share) = try await queue.page(of: space) {
      var greeting = try service.greet(space, as: replica, by: member)
      // It would not be taken.
      if !grant.mayWrite { (greeting.wantsSnapshot, greeting.wantsState) = (false, false) }
      let bytes = ByteBuffer(json: GreetingDocument(greeting))
      return (bytes, try self.share(of: bytes.readableBytes, space))
    }
    return Response(
      status: .ok, headers: [.contentType: "application/json"],
      body: ResponseBody(bytes, counting: share, to: context.channel))
  }

  /// A disk that is full, or an id that was claimed meanwhile, is no reason not to greet.
  private func claim(_ replica: ReplicaID, by grant: Grant, _ context: Context) async throws {
    let (space, member) = (grant.space, grant.member)
    guard let member,
      try await queue.page(of: space, { try service.canClaim(replica, member, in: space) })
    else { return }
    do {
      try await queue.write(to: space) { try service.claim(replica, by: member, in: space) }
    } catch let error as RemoteError where error.code == .unavailable {
      context.logger.failure("a replica id could not be claimed", error)
    }
  }

  private static func replica(_ name: String, in request: Request) throws -> ReplicaID? {
    try request.uri.queryParameters[Substring(name)].map { text in
      guard let replica = ReplicaID(text) else {
        throw RemoteError(.malformed, "\(name) names a replica by its 32 hexadecimal digits")
      }
      return replica
    }
  }

  static func cursor(in request: Request) -> RemoteCursor? {
    request.uri.queryParameters["after"].map { RemoteCursor(rawValue: String($0)) }
  }

  private func pull(
    _ request: Request, by grant: Grant, _ context: Context
  ) async throws -> Response {
    let (space, member) = (grant.space, grant.member)
    let cursor = Self.cursor(in: request)
    let excluded = try Self.replica("excluding", in: request)
    let shared = try await pages.page(of: space, after: cursor, excluding: excluded) {
      try service.page(of: space, after: cursor, excluding: $0)
    }
    let page = shared.page
    let share = try share(of: page.operations.byteCount, space)
    let renewal = try await queue.read {
      try LeaseRenewal(
        of: excluded, after: cursor, given: page, in: space, by: member, at: service)
    }
    if let renewal { try await settle(renewal, context.logger) }
    return Response(page, shared.body, counting: share, to: context.channel)
  }

  /// A renewal that can wait does, where the file is being written to for long.
  func settle(_ renewal: LeaseRenewal, _ logger: Logger) async throws {
    do {
      if let error = try await queue.write(to: renewal.space, { try service.settle(renewal) }) {
        logger.failure("a lease could not be written down", error)
      }
    } catch let error as RemoteError where error.code == .unavailable && renewal.canWait {
      _ = service.leases.note(renewal)
    }
  }

  /// Where the replica should go on; asked for again, since a refusal changes nothing.
  private func expectedSequence(_ error: RemoteError, in space: SpaceName) async -> UInt64? {
    guard let replica = error.replica else { return nil }
    // Only a help: without it the client asks for the heads.
    return try? await queue.page(of: space) { try service.greet(space).heads[replica] + 1 }
  }
}

/// A push that leaves something out, and where it should have begun.
private struct SequenceGap: Error {
  let error: RemoteError
  let expected: UInt64?
}
#endif
