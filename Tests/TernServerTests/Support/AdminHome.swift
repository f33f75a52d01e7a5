#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer

/// A space to which an operator can do everything: with a replica, a token and a refused snapshot.
struct AdminHome {
  let service: SpaceService
  private let token: TokenDigest
  private let snapshot: String
  static let ada = Author(1).replica

  /// - Parameter token: one of the space `home`.
  init(_ service: SpaceService, token: String) throws {
    self.service = service
    self.token = TokenDigest(token: token)
    var ada = Author(1)
    _ = try service.push(ada.write(count: 3), to: .home)
    let offer = SnapshotOffer(at: try service.end(), of: [ada])
    _ = ada.write()
    // Of parts with other heads.
    let parts = try SnapshotOffer(at: offer.cursor, of: [ada]).partsWithoutRows()
    snapshot = try service.beginSnapshot(offer, in: .home).id
    for (index, part) in parts.enumerated() {
      try service.putSnapshotPart(part, index: index, of: snapshot, in: .home)
    }
    #expect(refusal { try service.completeSnapshot(snapshot, in: .home) } != nil)
  }

  /// Does what has to be done before a call has something to change.
  func prepare(_ call: AdminCall) throws {
    switch call {
    case .resumeSpace: try service.asOperator.suspend(.home)
    case .closeRefill: _ = try service.refill(.home)
    case .restoreSpace, .endRestore:
      try service.store.update(.home) {
        try $0.trim(through: 2)
        _ = try $0.releaseTrimmed(operations: 9)
      }
      if call == .endRestore { _ = try service.restore(.home) }
    case .unbanReplica: _ = try service.ban(Self.ada, in: .home)
    case .unassignReplica: _ = try service.assign(Self.ada, to: MemberName("anna"), in: .home)
    case .releaseReplica:
      let lease = Lease(position: 1, renewed: service.clock.now)
      try service.store.update(.home) { try $0.set(lease, of: Self.ada) }
    default: break
    }
  }

  /// - Parameter space: in place of the one that the call is about.
  func path(_ entry: AdminRoute.Entry, space: String? = nil) -> String {
    let id =
      switch entry.path.dropFirst(2).first {
      case "tokens": token.description
      case "replicas": Self.ada.description
      default: snapshot
      }
    var values = [space ?? (entry.call == .createSpace ? "new" : "home"), id]
    return entry.path.map { $0 == "*" ? values.removeFirst() : $0 }.joined(separator: "/")
  }

  func body(_ call: AdminCall) -> String? {
    switch call {
    case .setQuota: #"{"bytes":9000,"share":40}"#
    case .createToken: #"{"member":"anna","label":"phone"}"#
    case .rotateToken: #"{"graceSeconds":60}"#
    case .admitReplica: #"{"through":9}"#
    case .assignReplica: #"{"member":"anna"}"#
    default: nil
    }
  }
}

extension AdminCall {
  /// What the audit log says of it; `nil` for one that only reads.
  var action: AuditAction? {
    switch self {
    case .document, .listSpaces, .getSpace, .audit: return nil
    case .unassignReplica: return .assignReplica
    default:
      let words = rawValue.map { $0.isUppercase ? "-\($0.lowercased())" : "\($0)" }
      return AuditAction(rawValue: words.joined())
    }
  }
}
#endif
