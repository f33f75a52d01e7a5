#if Server
import Hummingbird
import TernCore

extension AdminAPI {
  private static let spacesOnPage = 100

  /// A page of all spaces, by name.
  func spaces(_ request: Request) async throws -> Response {
    let after = request.uri.queryParameters["after"].map(String.init) ?? ""
    return Response(
      json: try await queue.read {
        let following = try service.store.spaces().filter { $0.text > after }
        return SpacesDocument(
          spaces: try following.prefix(Self.spacesOnPage).map { try document(of: $0) },
          more: following.count > Self.spacesOnPage)
      })
  }

  /// Of one that is damaged, why nobody knows.
  private func document(of space: SpaceName) throws -> SpaceDocument {
    do {
      return SpaceDocument(
        space, try service.store.summary(of: space), try service.store.usage(of: space))
    } catch let error as StoreError where error.code == .damaged {
      return SpaceDocument(space, damaged: error.message)
    }
  }

  func answer(
    _ route: AdminRoute, on target: AdminTarget, _ body: AdminBody
  ) async throws -> Response {
    let (service, space) = (target.service, target.space)
    switch route.call {
    case .setQuota:
      let quota = try body.decode(QuotaContent.self).quota
      return Response(
        json: try await queue.write(to: space) {
          let before = try service.store.usage(of: space).quota
          guard try service.setQuota(quota, of: space) else { throw target.absent }
          return target.done(before != quota)
        })
    case .restoreSpace:
      let overQuota = try body.decode(RestoreContent.self, isOptional: true).overQuota ?? false
      return Response(
        json: try await queue.write(to: space) {
          RestoredDocument(try service.restore(space, overQuota: overQuota))
        })
    default: break
    }
    try body.checkIsEmpty()
    if route.call == .getSpace {
      // The tokens of all spaces are looked through, and hold up nobody's push.
      let tokens = try await queue.read { try service.store.tokens().filter { $0.space == space } }
      return Response(
        json: try await queue.write(to: space) { try details(of: target, with: tokens) })
    }
    let done = try await queue.write(to: space) { try change(target, by: route.call) }
    if route.call == .deleteSpace { tidy(nil) }
    return Response(json: done)
  }

  /// Those for which a space's name is enough.
  private func change(_ target: AdminTarget, by call: AdminCall) throws -> ChangeDocument {
    let (service, space) = (target.service, target.space)
    switch call {
    case .createSpace: return target.done(try service.createSpace(space))
    case .deleteSpace:
      guard try service.asOperator.takeAway(space) else { throw target.absent }
      return target.done()
    case .suspendSpace: return target.done(try service.asOperator.suspend(space))
    case .resumeSpace: return target.done(try service.asOperator.resume(space))
    case .openRefill, .closeRefill:
      let until = try service.refill(space, isOpen: call == .openRefill)
      var done = target.done()
      done.until = until?.milliseconds
      return done
    case .endRestore:
      try service.endRestore(space)
      return target.done()
    default: fatalError("\(call.rawValue) is answered elsewhere")
    }
  }

  /// All that is known of a space, but for its content.
  private func details(
    of target: AdminTarget, with tokens: [TokenRecord]
  ) throws -> SpaceDetailsDocument {
    let (service, space) = (target.service, target.space)
    let horizon = try service.asOperator.horizon(of: space)
    return SpaceDetailsDocument(
      space: SpaceDocument(
        space, try service.store.summary(of: space), try service.store.usage(of: space)),
      horizon: HorizonDocument(horizon),
      replicas: try service.authors(of: space).sorted { $0.key < $1.key }
        .map { ReplicaDocument($0.key, $0.value) },
      tokens: tokens.map { TokenDocument($0) },
      snapshots: try service.snapshots(of: space).map { SnapshotDocument($0) })
  }

  // MARK: - The audit log

  private static let recordsOnPage = 200

  func audit(_ request: Request) async throws -> Response {
    let query = request.uri.queryParameters
    let space = try query["space"].map { try SpaceName($0, limits: service.limits) }
    let after = query["after"].map { UInt64($0) } ?? 0
    guard let after else {
      throw RemoteError(.malformed, "after is the number of the last record of the page before")
    }
    return Response(
      json: try await queue.read {
        let most = Self.recordsOnPage
        let found = try service.store.auditRecords(after: after, of: space, atMost: most + 1)
        return AuditDocument(
          records: found.prefix(most).map { AuditRecordDocument($0) }, more: found.count > most)
      })
  }
}
#endif
