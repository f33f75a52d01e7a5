#if Server
import Hummingbird
import TernCore

extension AdminAPI {
  func answer(
    _ route: AdminRoute, on target: AdminTarget, _ body: AdminBody, of replica: ReplicaID
  ) async throws -> Response {
    let (service, space) = (target.service, target.space)
    let change: @Sendable () throws -> ChangeDocument
    switch route.call {
    case .admitReplica:
      guard let last = try body.decode(AdmissionContent.self).through,
        last <= VersionVector.maximumSequence
      else {
        throw RemoteError(
          .malformed, "through is a number up to \(VersionVector.maximumSequence)")
      }
      change = {
        let isKnown = try service.admit(replica, through: last, in: space)
        return try target.done(with: replica, ifKnown: isKnown)
      }
    case .assignReplica:
      guard let member = try body.decode(MemberContent.self).member else {
        throw RemoteError(.malformed, "member is the name of the one whose the replica is")
      }
      let name = try MemberName(member)
      change = {
        try target.done(
          with: replica, ifKnown: service.assign(replica, to: name, in: space))
      }
    default:
      try body.checkIsEmpty()
      change = { try self.change(target, replica, by: route.call) }
    }
    return Response(json: try await queue.write(to: space, change))
  }

  /// Those for which a replica's id is enough.
  private func change(
    _ target: AdminTarget, _ replica: ReplicaID, by call: AdminCall
  ) throws -> ChangeDocument {
    let (service, space) = (target.service, target.space)
    switch call {
    case .banReplica:
      var done = target.done()
      done.bannedAfter = try service.ban(replica, in: space)
      return done
    case .unbanReplica:
      return try target.done(with: replica, ifKnown: service.unban(replica, in: space))
    case .unassignReplica:
      return try target.done(with: replica, ifKnown: service.assign(replica, to: nil, in: space))
    case .releaseReplica:
      return target.done(try service.asOperator.dropLease(of: replica, in: space))
    default: fatalError("\(call.rawValue) is answered elsewhere")
    }
  }

  func answer(
    _ route: AdminRoute, on target: AdminTarget, _ body: AdminBody, ofSnapshot id: String
  ) async throws -> Response {
    let (service, space) = (target.service, target.space)
    try body.checkIsEmpty()
    let hasMore = try await queue.write(to: space) {
      try target.ensureIsThere()
      if route.call == .acceptSnapshot { return try service.acceptSnapshot(id, in: space) }
      try service.dropSnapshot(id, in: space)
      return true
    }
    if hasMore { tidy(space) }
    return Response(json: target.done())
  }
}
#endif
