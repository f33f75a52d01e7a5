import GRDB
import TestDevice
import TestProcesses

@testable import Tern

/// Lists that sync, and tables of this device's own that refer to them.
enum LocalChild {
  static let list = "CREATE TABLE list (id TEXT NOT NULL PRIMARY KEY, name TEXT);"
  static let schema = SyncSchema(version: 1, tables: [SyncTable("list")])

  /// Two devices with lists 'a' and 'b'; the first has rows of its own.
  static func pair(_ tables: String, _ rows: String, _ schema: SyncSchema = schema) throws -> (
    Device, Device
  ) {
    let (a, b) = try Device.pair(schema, list + tables)
    try fill(a, b, rows)
    return (a, b)
  }

  static func fill(_ a: Device, _ b: Device, _ rows: String) throws {
    try b.commit("INSERT INTO list VALUES ('a', 'A'), ('b', 'B')")
    try a.pull(from: b)
    try a.execute(rows)
  }
  /// Merges what `other` has and the device lacks, one operation a page.
  static func pullByOne(_ device: Device, from other: Device, endsPull: Bool = true) throws {
    try other.store.seal()
    let operations = try other.store.operations(
      lackedBy: device.store.versionVector(), maximumBytes: .max)
    for (index, operation) in operations.enumerated() {
      try mergePage(device, [operation], hasMore: !endsPull || index < operations.count - 1)
    }
  }

  static func mergePage(
    _ device: Device, _ operations: [SyncOperation], hasMore: Bool, withheld: RemoteError? = nil
  ) throws {
    _ = try device.store.merge(
      PulledPage(
        operations: operations, cursor: RemoteCursor(rawValue: "1"), hasMore: hasMore,
        now: nil, withheld: withheld),
      from: RemotePlace(remoteID: "peer", epoch: "e", cursor: nil))
  }

  /// How many parents were noted at which nobody has looked since.
  static func notedParents(of device: Device) throws -> Int {
    try device.store.access.read { try $0.connection.count($0.tables.goneLocal) }
  }
}
