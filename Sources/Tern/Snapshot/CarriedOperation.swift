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

/// What waits here, on its way into a snapshot or out of one.
struct CarriedOperations {
  let transaction: StoreTransaction

  /// In the order of the log, every operation of a group that is put aside among them.
  func waiting() throws -> [CarriedOperation] {
    var found: [Int64: CarriedOperation] = [:]
    for (id, parts) in try transaction.waiting.parts() {
      found[id.rawValue] = CarriedOperation(id: id, parts: parts)
    }
    let select = try transaction.statement(
      "SELECT id, first, detail, due_ms FROM \(transaction.tables.waiting) WHERE reason <> 'schema'"
    )
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
    try transaction.authors.ids.indices.flatMap { index in
      let author = try transaction.authorTable.row(UInt32(index))
      guard author.merged <= author.stored else {
        throw ReplicaError(.damaged, "more of an author is merged than was stored")
      }
      return (author.merged..<author.stored).map { LogID(author: UInt32(index), sequence: $0 + 1) }
    }
  }

  /// Takes one in from a snapshot.
  func take(_ carried: CarriedOperation, _ operation: SyncOperation) throws {
    try transaction.log.drop(carried.id)
    try transaction.log.append(operation, author: carried.id.author)
    for part in carried.parts { try transaction.waiting.putOff(part, of: carried.id) }
    if let aside = carried.aside {
      let group = LogGroup(author: carried.id.author, sequences: aside.first...carried.id.sequence)
      guard try transaction.log.holds(group) else {
        throw WireError(.malformed, "a group that is put aside")
      }
      try transaction.waiting.putAside(
        group, until: aside.isFuture ? operation.envelope.time : nil, aside.reason)
    }
  }
}
