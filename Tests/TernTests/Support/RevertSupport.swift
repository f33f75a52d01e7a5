import Tern
import TestDevice

extension Device {
  /// How many operations it has sealed.
  var lastSequence: UInt64 {
    get throws { try store.versionVector()[store.replicaID()] }
  }

  /// Takes back what another device wrote after one of its operations.
  @discardableResult
  func revert(_ other: Device, after sequence: UInt64, preview: Bool = false) async throws
    -> RevertedOperations
  {
    try await replica.revert(
      author: other.store.replicaID(), after: sequence, preview: preview)
  }
}

extension RevertedOperations {
  var actions: [UndoneOperation.Row.Action] { rows.map(\.action) }
}
