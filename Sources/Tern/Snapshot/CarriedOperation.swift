import TernCore
import TernDatabase

/// An operation that is in the log for what is not in the state: its group is put aside or not
/// whole, or it has parts that this schema does not know. A snapshot carries it along.
struct CarriedOperation {
  let id: LogID
  var parts: Set<DeferredPart> = []
  /// Of the last operation of a group that is put aside.
  var aside: SnapshotOperation.Aside?

  /// - Parameter author: the snapshot's number.
  func append(to writer: inout ByteWriter, author: UInt32, _ operation: SyncOperation) {
    writer.append(varint: UInt64(author))
    writer.append(varint: UInt64(operation.bytes.count))
    writer.append(raw: operation.bytes)
    writer.append(varint: UInt64(parts.count))
    let sorted = parts.sorted { ($0.table, $0.column) < ($1.table, $1.column) }
    for part in sorted {
      writer.append(string: part.table)
      writer.append(string: part.column)
    }
    writer.append(byte: aside.map { $0.isFuture ? 2 : 1 } ?? 0)
    guard let aside else { return }
    writer.append(varint: aside.first)
    writer.append(string: aside.reason)
  }

  init(id: LogID, parts: Set<DeferredPart> = []) { (self.id, self.parts) = (id, parts) }

  /// - Parameter author: its index here.
  init(_ entry: SnapshotOperation, author: UInt32) {
    id = LogID(author: author, sequence: entry.operation.envelope.sequence)
    parts = Set(entry.parts.map { DeferredPart(table: $0.table, column: $0.column) })
    aside = entry.aside
  }
}

extension StoreTransaction {
  /// In the order of the log, every operation of a group that is put aside among them.
  func carriedOperations() throws -> [CarriedOperation] {
    var found: [Int64: CarriedOperation] = [:]
    for (id, parts) in try waiting.parts() {
      found[id.rawValue] = CarriedOperation(id: id, parts: parts)
    }
    let select = try statement(
      "SELECT id, first, detail, due_ms FROM \(tables.waiting) WHERE reason <> 'schema'")
    defer { select.reset() }
    while try select.step() {
      let last = LogID(rawValue: select.int64(0))
      for sequence in select.raw(1)...last.sequence {
        let id = LogID(author: last.author, sequence: sequence)
        found[id.rawValue, default: CarriedOperation(id: id)].aside =
          sequence < last.sequence
          ? nil
          : .init(
            first: select.raw(1), isFuture: !select.isNull(3),
            reason: select.value(2).value?.string ?? "")
      }
    }
    return found.sorted { $0.key < $1.key }.map(\.value)
  }

  /// The beginnings of groups whose rest has not come. It may never: their author may be gone.
  func partsOfGroups() throws -> [LogID] {
    try authors.ids.indices.flatMap { index in
      let author = try author(UInt32(index))
      guard author.merged <= author.stored else {
        throw ReplicaError(.damaged, "more of an author is merged than was stored")
      }
      return (author.merged..<author.stored).map { LogID(author: UInt32(index), sequence: $0 + 1) }
    }
  }

  /// Whether every operation of a group is in the log.
  private func holds(_ group: LogGroup) throws -> Bool {
    let count = try statement("SELECT count(*) FROM \(tables.log) WHERE id >= ? AND id <= ?")
    count.bind(1, LogID(author: group.author, sequence: group.sequences.lowerBound).rawValue)
    count.bind(2, LogID(author: group.author, sequence: group.sequences.upperBound).rawValue)
    defer { count.reset() }
    return try count.step() && Int(count.int64(0)) == group.sequences.count
  }

  /// Takes one in from a snapshot.
  func take(_ carried: CarriedOperation, _ operation: SyncOperation) throws {
    let delete = try statement("DELETE FROM \(tables.log) WHERE id = ?")
    delete.bind(1, carried.id.rawValue)
    try delete.run()
    try appendToLog(operation, author: carried.id.author)
    for part in carried.parts { try waiting.putOff(part, of: carried.id) }
    if let aside = carried.aside {
      let group = LogGroup(author: carried.id.author, sequences: aside.first...carried.id.sequence)
      guard try holds(group) else { throw WireError(.malformed, "a group that is put aside") }
      try waiting.putAside(
        group, until: aside.isFuture ? operation.envelope.time : nil, aside.reason)
    }
  }
}
