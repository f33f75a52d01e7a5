#if Server && Rehearsal
import Tern
import TernServer
import TernTesting

// The horizon: what a device says of what it has, and how states are compared that forgot rows.

extension SimulationPlan {
  /// A server that lost its horizon takes what others forgot the deletes of (Guide, "Known limits").
  var hasHorizon: Bool { trims && !wipesServer && !restoresServer }
}

extension SimulatedRemote {
  func push(_ operations: [Operation], basis: PushBasis?) async throws -> PushReceipt {
    let device = device
    return try await server.request(device, "push \(operations.count)") { server in
      do {
        return try server.push(operations, basis: basis)
      } catch let error as RemoteError where error.code == .snapshotNeeded {
        server.noteBehind(device)
        throw error
      }
    }
  }

  func pull(after cursor: Cursor?, by replica: ReplicaID, isAcknowledged: Bool) async throws
    -> PulledPage
  {
    try await server.request(device, isAcknowledged ? "pull, acknowledging" : "pull") {
      try $0.pull(after: cursor, excluding: replica, isAcknowledged: isAcknowledged)
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
  let keys = Set((left + right).map(\.key)).map { "\($0)" }.sorted()
  for key in keys {
    let (mine, other) = (left.first { "\($0.key)" == key }, right.first { "\($0.key)" == key })
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
