#if Server
import TernCore

/// The operations that an offered snapshot carries along, and what of them is in none of its rows.
struct CarriedOperations {
  private struct Part: Hashable {
    var table: String
    var column: String
  }

  /// A row whose key its table does not take.
  private struct WaitingRow: Hashable {
    var stamp: Stamp
    var table: String
    var key: [UInt8]
  }

  private(set) var digests: [OperationKey: OperationDigest] = [:]
  private var times: [OperationKey: HybridTime] = [:]
  /// By author, the operations of a group that is not whole in the snapshot.
  private(set) var beginnings: [ReplicaID: [UInt64: HybridTime]] = [:]
  private var parts: [Stamp: Set<Part>] = [:]
  private var rows: Set<WaitingRow> = []
  /// Of groups that wait whole, for a clock or for a newer Tern: whoever loads them merges them as
  /// soon as it can.
  private var asides: Set<Stamp> = []
  private var groups: [(author: ReplicaID, sequences: ClosedRange<UInt64>)] = []

  var isEmpty: Bool { digests.isEmpty }

  /// - Throws: ``WireError`` for what no replica carries along.
  mutating func note(_ entry: SnapshotOperation, _ author: SnapshotHeading.Author, _ stamp: Stamp)
    throws
  {
    let (new, envelope) = (NewOperation(entry.operation), entry.operation.envelope)
    guard digests.updateValue(new.digest, forKey: new.key) == nil else {
      throw WireError(.malformed, "an operation twice")
    }
    times[new.key] = envelope.time
    guard envelope.sequence <= author.sequence else {
      guard envelope.continues, entry.parts.isEmpty, entry.aside == nil else {
        throw WireError(.malformed, "an operation behind the heads")
      }
      beginnings[author.id, default: [:]][envelope.sequence] = envelope.time
      return
    }
    if let aside = entry.aside {
      asides.insert(stamp)
      groups.append((author.id, aside.first...envelope.sequence))
    }
    guard !entry.parts.isEmpty else { return }
    let named = entry.parts.map { Part(table: $0.table.folded, column: $0.column.folded) }
    parts[stamp, default: []].formUnion(named)
    try noteKeys(of: entry.operation, Set(named), stamp)
  }

  private mutating func noteKeys(
    of operation: SyncOperation, _ named: Set<Part>, _ stamp: Stamp
  ) throws {
    var found: Set<WaitingRow> = []
    var row = BodyRow()
    try operation.forEachBlock { block, reader in
      let table = block.table.folded
      let isKept = block.keyColumns.contains {
        named.contains(Part(table: table, column: $0.folded))
      }
      while try reader.nextRow(&row, of: block) {
        guard isKept else { continue }
        found.insert(WaitingRow(stamp: stamp, table: table, key: Array(row.packedKey)))
      }
    }
    rows.formUnion(found)
  }

  /// Whether groups are as a replica carries them: one that waits whole is whole, and the beginning
  /// of another has no hole.
  func isWhole(_ authors: [SnapshotHeading.Author]) -> Bool {
    func haveOneTime(_ author: ReplicaID, _ sequences: ClosedRange<UInt64>) -> Bool {
      guard sequences.upperBound - sequences.lowerBound < digests.count else { return false }
      let all = sequences.map { times[OperationKey(author: author, sequence: $0)] }
      return all.allSatisfy { $0 != nil && $0 == all[0] }
    }
    guard groups.allSatisfy({ haveOneTime($0.author, $0.sequences) }) else { return false }
    return authors.allSatisfy { author in
      guard let begun = beginnings[author.id] else { return true }
      return haveOneTime(
        author.id, author.sequence + 1...author.sequence + UInt64(begun.count))
    }
  }

  /// Whether a write waits, and so need not be in its row.
  ///
  /// - Parameter column: its names, also those before; `nil` for a write to the row.
  func excuses(
    _ stamp: Stamp, _ key: UnsafeRawBufferPointer, of table: TracedTable, column: Set<String>?,
    isOffered: Bool
  ) -> Bool {
    if asides.contains(stamp) { return true }
    guard let waiting = parts[stamp] else { return false }
    return table.allNames.contains { name in
      if !table.isOffered, waiting.contains(Part(table: name, column: "")) { return true }
      if let column, !isOffered,
        column.contains(where: { waiting.contains(Part(table: name, column: $0)) })
      {
        return true
      }
      return !rows.isEmpty
        && rows.contains(WaitingRow(stamp: stamp, table: name, key: Array(key)))
    }
  }

  /// Whether an operation that is not carried along writes what waits of others of its group.
  func lacks(_ operation: SyncOperation, _ stamp: Stamp) throws -> Bool {
    if asides.contains(stamp) { return true }
    guard let waiting = parts[stamp] else { return false }
    var lacks = false
    var row = BodyRow()
    try operation.forEachBlock { block, reader in
      let table = block.table.folded
      let columns = block.columns.map {
        waiting.contains(Part(table: table, column: $0.name.folded))
      }
      if waiting.contains(Part(table: table, column: "")) { lacks = true }
      while try reader.nextRow(&row, of: block) {
        guard row.kind != .delete else { continue }
        if columns.indices.contains(where: { columns[$0] && row.isCarried[$0] }) { lacks = true }
      }
    }
    return lacks
  }
}
#endif
