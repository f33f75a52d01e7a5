#if Server && Rehearsal
import Foundation
import GRDB
import Tern
@_spi(Rehearsal) import TernCore
import TernTesting
import TestDevice

/// What a device shows follows from its state: another that is given the state, or the operations in
/// another order, shows the same (INV-01, INV-14).
extension SimulatedDevice {
  /// How many merges are looked at. Each takes as long as some tens of them.
  private static let rate =
    ProcessInfo.processInfo.environment["TERN_EVERY_MERGE"] == nil ? 0.03 : 1

  /// Behind a merge. Nothing of it is seen in the world.
  func checkDerived(merge: Int) {
    guard violation == nil else { return }
    var lots = SeededGenerator(
      seed: script.seed ^ UInt64(index) << 32 ^ UInt64(merge) << 40)
    guard lots.happens(Self.rate) else { return }
    do {
      let found = try CrashPoint.with({ _ in }, { try difference(&lots) })
      if let found { note("INV-01: device \(index), behind merge \(merge), \(found)") }
    } catch {
      note("failed: a copy of device \(index), behind merge \(merge): \(error)")
    }
  }

  private func difference(_ lots: inout SeededGenerator) throws -> String? {
    let store = replica.store
    // What was written since is in no state, and what waits for this clock is for no other.
    guard try !store.hasNews(), try store.counts().pending[.clock] == 0 else { return nil }
    let wall = SimulatedWall(clock: clock, offset: 10 * 24 * 60 * 60 * 1000)
    let shown = try Shown(replica, file)
    var parts: [[UInt8]] = []
    _ = try store.cutSnapshot { parts.append($0) }
    let loaded = try file.blank(script, wall)
    _ = try loaded.replica.store.loadSnapshot(from: nil, isRepairing: false) {
      $0 < parts.count ? parts[$0] : nil
    }
    if let found = try shown.difference(to: loaded) {
      return "shows otherwise than a device with its snapshot: \(found)"
    }
    let operations = try store.operations(lackedBy: VersionVector(), maximumBytes: .max)
    let stored = try store.storedVersionVector()
    // Of a log that was trimmed, or began with a snapshot, the beginning is nowhere.
    let count = stored.sequences.values.reduce(0) { $0 + Int($1) }
    guard operations.count == count else { return nil }
    trace.saw(.derived)
    let replayed = try file.blank(script, wall)
    try replayed.replica.store.merge(operations, inAnyOrder: &lots)
    return try shown.difference(to: replayed).map {
      "shows otherwise than a device that merged the same in another order: \($0)"
    }
  }
}

/// What a person can see of a replica, and what that follows from.
private struct Shown {
  let state: [CanonicalRow]
  let tables: [String: [Row]]
  let entries: [String]

  init(_ replica: Replica, _ file: SimulatedFile) throws {
    state = try replica.store.canonicalState()
    tables = try file.tables()
    entries = try replica.entriesOfState()
  }

  func difference(to device: (file: SimulatedFile, replica: Replica)) throws -> String? {
    let other = try Shown(device.replica, device.file)
    if try device.replica.store.ownHead().sequence > 0 { return "operations of its own" }
    if let rows = SimulationKit.difference(of: state, other.state) { return "state, \(rows)" }
    if let table = tables.keys.sorted().first(where: { tables[$0] != other.tables[$0] }) {
      return "table \(table)"
    }
    return entries == other.entries ? nil : "inboxes, \(entries) and \(other.entries)"
  }
}

extension SQLiteReplicaStore {
  /// Merges operations one a page, each author's in their order.
  fileprivate func merge(
    _ operations: [SyncOperation], inAnyOrder lots: inout SeededGenerator
  ) throws {
    var queues = Dictionary(grouping: operations, by: \.envelope.replica)
      .sorted { $0.key < $1.key }.map { $0.value[...] }
    while !queues.isEmpty {
      let index = Int.random(in: queues.indices, using: &lots)
      let page = PulledPage(
        operations: [queues[index].removeFirst()], cursor: RemoteCursor(rawValue: "1"),
        hasMore: true, now: nil)
      _ = try merge(
        page, from: RemotePlace(remoteID: "copy", epoch: "e", cursor: nil), until: { false })
      if queues[index].isEmpty { queues.remove(at: index) }
    }
  }
}
#endif
