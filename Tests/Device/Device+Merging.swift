import GRDB
import Tern

extension Device {
  /// Merges what `other` has and this one lacks.
  @discardableResult
  package func pull(from other: Device) throws -> MergeSummary {
    try other.store.seal()
    return try merge(
      other.store.operations(lackedBy: store.versionVector(), maximumBytes: .max))
  }

  /// Merges given operations as a page of a remote's.
  @discardableResult
  package func merge(_ operations: [SyncOperation], from remoteID: String = "peer") throws
    -> MergeSummary
  {
    try store.merge(
      PulledPage(
        operations: operations, cursor: RemoteCursor(rawValue: "1"), hasMore: false,
        now: nil),
      from: RemotePlace(remoteID: remoteID, epoch: "e", cursor: nil))
  }
}

/// Both pull from each other until neither has news.
package func meet(_ a: Device, _ b: Device) throws {
  try a.pull(from: b)
  try b.pull(from: a)
}

/// What `later` writes next is later than everything that `earlier` has.
package func delay(_ later: Device, after earlier: Device) throws {
  func milliseconds(_ device: Device) throws -> Int64 {
    try device.database.read {
      try Int64.fetchOne(
        $0, sql: "SELECT CAST((julianday() - 2440587.5) * 86400000.0 AS INTEGER)")!
    }
  }
  try earlier.store.seal()
  let time = try milliseconds(earlier)
  while try milliseconds(later) <= time {}
}
