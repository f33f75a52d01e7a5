#if Server && Rehearsal
import Tern
import TernServer
import TernTesting

// The horizon: what a device says of what it has, and how states are compared that forgot rows.

extension SimulationScript {
  /// A server that lost its horizon takes what others forgot the deletes of, a copy has what another
  /// forgot, and two servers have two of them (Guide, "Known limits").
  var hasHorizon: Bool {
    conditions.contains(.trims) && servers.count == 1
      && !steps.contains { $0.kind == .wipe || $0.kind.copiesFile }
  }
}

extension SimulatedRemote {
  func push(_ operations: [Operation], basis: PushBasis?) async throws -> PushReceipt {
    let (device, space) = (device, space)
    return try await request("push \(operations.count)") { server in
      do {
        return try server.push(operations, to: space, basis: basis)
      } catch let error as RemoteError where error.code == .snapshotNeeded {
        server.noteBehind(device)
        throw error
      }
    }
  }

  func pull(after cursor: Cursor?, by replica: ReplicaID, isAcknowledged: Bool) async throws
    -> PulledPage
  {
    let space = space
    return try await request(isAcknowledged ? "pull, acknowledging" : "pull") {
      try $0.pull(
        from: space, after: cursor, excluding: replica, isAcknowledged: isAcknowledged)
    }
  }
}

extension SimulatedServer {
  func noteBehind(_ device: Int) {
    trace.note("device \(device) is behind the horizon")
    behind.insert(device)
  }

  /// Whether a device may have left a change to a row out, when it was told to begin again: one to
  /// a row that somebody deleted, or that began anew.
  func excuses(_ device: Int, _ key: String, _ model: Model) -> Bool {
    behind.contains(device) && (model.deletion(of: key) != nil || model.life(of: key) > 1)
  }
}

extension Simulation {
  /// The latest up to when any device may have forgotten deleted rows.
  func horizon(of devices: [SimulatedDevice]) throws -> HybridTime {
    try devices.map { try $0.replica.store.horizon() }.max() ?? .zero
  }
}

/// The first row that differs, in both; `nil` where all are equal.
func difference(of left: [CanonicalRow], _ right: [CanonicalRow]) -> String? {
  if left == right { return nil }
  func name(_ row: CanonicalRow) -> String { "\(row.table) \(row.key)" }
  for key in Set((left + right).map(name)).sorted() {
    let (mine, other) = (left.first { name($0) == key }, right.first { name($0) == key })
    if mine != other { return "\(String(describing: mine)) and \(String(describing: other))" }
  }
  return "their order"
}

extension Model {
  /// What the merged state must hold above a horizon.
  func rows(above horizon: HybridTime) -> [String: Row] {
    rows().filter { key, row in
      !row.isDeleted || deletion(of: key).map { $0 > horizon } ?? true
    }
  }
}
#endif
