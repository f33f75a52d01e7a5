#if Server
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1
import TernCore

/// What the command line does to spaces and tokens, over HTTP and for operators alone.
///
/// It has no rule of its own: each call is one of ``SpaceService`` or ``SpaceOperator``, in the
/// name of the operator whose token came with it.
struct AdminAPI: Sendable {
  let service: SpaceService
  let queue: StoreQueue
  let operators: OperatorTokens
  /// Told of a space in which there is something to remove, and with `nil` of one that is removed.
  let tidy: @Sendable (SpaceName?) -> Void
  let logger: Logger

  /// Whether a path is for this.
  static func holds(_ path: String) -> Bool {
    path == AdminRoute.root || path.hasPrefix(AdminRoute.root + "/")
  }

  func respond(to request: Request) async throws -> Response {
    // An injected default: a name is no part of what a simulation decides.
    var generator = SystemRandomNumberGenerator()
    let id = RequestID(request.headers[.requestID]) ?? RequestID(using: &generator)
    var logger = logger
    logger[metadataKey: "request"] = "\(id.text)"
    var response = try await answerOrRefuse(request, id, logger)
    response.headers[.requestID] = id.text
    response.headers[.cacheControl] = "no-store"
    return response
  }

  private func answerOrRefuse(
    _ request: Request, _ id: RequestID, _ logger: Logger
  ) async throws -> Response {
    do {
      return try await answer(request, logger)
    } catch let error as RemoteError {
      logger.info("an operator's request was refused", metadata: ["code": "\(error.code.rawValue)"])
      var response = Response(error, request: id)
      if error.code == .methodNotAllowed {
        response.headers[.allow] = AdminRoute.methods(at: request.uri.path)
      }
      return response
    } catch let error as HTTPParserError {
      // Hummingbird answers and closes the connection.
      throw error
    } catch is CancellationError {
      let ending = RemoteError(.unavailable, "the server is ending; try again")
      return Response(ending, request: id)
    } catch {
      if let error = error as? OperatorTokensError {
        logger.error("nobody is an operator", metadata: ["why": "\(error.message)"])
      } else {
        logger.failure("an operator's request failed", error)
      }
      let failed = RemoteError(
        .unavailable, "the server could not do this now, and its log says why; try again",
        retryAfter: .seconds(5))
      return Response(failed, request: id)
    }
  }

  private func answer(_ request: Request, _ logger: Logger) async throws -> Response {
    let token = request.bearerToken
    // Before anything of it is looked at, whatever it is.
    let name = try await queue.read { try operators.name(of: token, service.clock) }
    let route = try AdminRoute(method: request.method, path: request.uri.path)
    let response =
      switch route.call {
      case .document: AdminDocument.response
      case .audit: try await audit(request)
      case .listSpaces: try await spaces(request)
      default: try await answer(request, route, by: name)
      }
    logger.info(
      "an operator's request", metadata: ["operator": "\(name)", "call": "\(route.call.rawValue)"])
    return response
  }

  private func answer(
    _ request: Request, _ route: AdminRoute, by name: OperatorName
  ) async throws -> Response {
    let space = try SpaceName(route.values[0], limits: service.limits)
    var service = service
    service.actor = .operator(name)
    // All but one are about a space that is there.
    service.makesSpaces = route.call == .createSpace
    let target = AdminTarget(service: service, space: space)
    let body = try await AdminBody(of: request)
    switch route.call {
    case .createToken, .rotateToken, .revokeToken:
      return try await answer(route, on: target, body, ofToken: route.values.last ?? "")
    case .banReplica, .unbanReplica, .admitReplica, .assignReplica, .unassignReplica,
      .releaseReplica:
      guard let replica = ReplicaID(String(route.values[1])) else {
        throw RemoteError(.malformed, "a replica's id has 32 hexadecimal digits")
      }
      return try await answer(route, on: target, body, of: replica)
    case .acceptSnapshot, .dropSnapshot:
      return try await answer(route, on: target, body, ofSnapshot: String(route.values[1]))
    default: return try await answer(route, on: target, body)
    }
  }
}

/// A space, and the service in an operator's name.
struct AdminTarget: Sendable {
  let service: SpaceService
  let space: SpaceName

  /// What is answered to a change.
  func done(_ isChanged: Bool = true) -> ChangeDocument {
    ChangeDocument(changed: isChanged, now: service.clock.nowMilliseconds)
  }

  /// - Throws: ``RemoteError`` with `not-found`.
  func ensureIsThere() throws {
    guard try service.store.standing(of: space) != nil else { throw absent }
  }

  var absent: RemoteError {
    RemoteError(.notFound, "there is no space \(space); see 'tern space list'")
  }

  /// - Parameter isKnown: whether the space knows the replica.
  /// - Throws: ``RemoteError`` with `not-found`.
  func done(with replica: ReplicaID, ifKnown isKnown: Bool) throws -> ChangeDocument {
    guard isKnown else {
      throw RemoteError(
        .notFound, "space \(space) has no replica \(replica); see 'tern replica list'")
    }
    return done()
  }
}
#endif
