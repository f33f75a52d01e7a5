/// What one operation did to a `.set` column. See `Docs/WireFormat.md`.
package struct SetChange: Hashable, Sendable {
  /// In ascending order.
  package let added: [SQLiteValue]
  /// Elements and the additions that the author had seen, in the order of elements.
  package let removed: [ElementSet.Entry]

  package init(added: [SQLiteValue], removed: [ElementSet.Entry] = []) {
    self.added = added
    self.removed = removed
  }

  package var isEmpty: Bool { added.isEmpty && removed.isEmpty }

  package var bytes: [UInt8] {
    var writer = ByteWriter()
    let replicas = ReplicaTable([removed])
    writer.append(replicas)
    writer.append(removed, replicas)
    writer.append(varint: UInt64(added.count))
    for element in added { writer.append(element) }
    return writer.bytes
  }

  /// Reads a change that takes up all of `bytes`, in its one form.
  package init(_ bytes: UnsafeRawBufferPointer) throws(WireError) {
    var reader = ByteReader(bytes)
    var replicas = try reader.replicaTable(limit: VersionVector.maximumReplicas)
    removed = try reader.entries(&replicas, limit: ElementSet.Limit.elements)
    added = try reader.elements()
    guard reader.isAtEnd, replicas.isAllUsed else { throw WireError(.malformed, "set") }
  }
}

extension ElementSet {
  /// The stored form.
  func append(to writer: inout ByteWriter) {
    let replicas = ReplicaTable([entries, early], arrived)
    writer.append(replicas)
    writer.append(entries, replicas)
    writer.append(early, replicas)
    writer.append(arrived, replicas)
  }

  init(_ reader: inout ByteReader) throws(WireError) {
    var replicas = try reader.replicaTable(limit: .max)
    entries = try reader.entries(&replicas, limit: .max)
    early = try reader.entries(&replicas, limit: .max)
    arrived = try reader.additions(&replicas)
  }
}

/// The replicas that a set names, each written once.
private struct ReplicaTable {
  let ids: [ReplicaID]
  private let indices: [ReplicaID: Int]
  private var isUsed: [Bool]

  init(_ lists: [[ElementSet.Entry]], _ more: VersionVector = VersionVector()) {
    var ids = Set(more.sequences.keys)
    for entry in lists.joined() { ids.formUnion(entry.additions.sequences.keys) }
    self.init(ids: ids.sorted())
  }

  init(ids: [ReplicaID]) {
    self.ids = ids
    indices = Dictionary(uniqueKeysWithValues: ids.enumerated().map { ($1, $0) })
    isUsed = Array(repeating: false, count: ids.count)
  }

  /// A replica that the table has.
  func index(of id: ReplicaID) -> Int { indices[id]! }

  var isAllUsed: Bool { !isUsed.contains(false) }

  mutating func use(_ index: Int) -> ReplicaID {
    isUsed[index] = true
    return ids[index]
  }
}

extension ByteWriter {
  fileprivate mutating func append(_ replicas: ReplicaTable) {
    append(varint: UInt64(replicas.ids.count))
    for id in replicas.ids { append(replica: id) }
  }

  fileprivate mutating func append(_ entries: [ElementSet.Entry], _ replicas: ReplicaTable) {
    append(varint: UInt64(entries.count))
    for entry in entries {
      append(entry.element)
      append(entry.additions, replicas)
    }
  }

  fileprivate mutating func append(_ additions: VersionVector, _ replicas: ReplicaTable) {
    append(varint: UInt64(additions.sequences.count))
    for entry in additions.sorted {
      append(varint: UInt64(replicas.index(of: entry.replica)))
      append(varint: entry.sequence)
    }
  }
}

extension ByteReader {
  fileprivate mutating func replicaTable(limit: Int) throws(WireError) -> ReplicaTable {
    var ids: [ReplicaID] = []
    let count = try count("set replicas")
    guard count <= limit else { throw WireError(.tooLarge, "set replicas") }
    for _ in 0..<count {
      let id = try replica("set replica")
      if let last = ids.last, last >= id { throw WireError(.malformed, "set replicas") }
      ids.append(id)
    }
    return ReplicaTable(ids: ids)
  }

  fileprivate mutating func elements() throws(WireError) -> [SQLiteValue] {
    var elements: [SQLiteValue] = []
    for _ in 0..<(try elementCount("set elements", ElementSet.Limit.elements)) {
      let element = try element()
      if let last = elements.last, last >= element { throw WireError(.malformed, "set elements") }
      elements.append(element)
    }
    return elements
  }

  private mutating func elementCount(_ field: String, _ limit: Int) throws(WireError) -> Int {
    let count = try count(field)
    guard count <= limit else { throw WireError(.tooLarge, field) }
    return count
  }

  /// A text in UTF-8 or a number; a whole one is an integer, so that equal elements
  /// are equal bytes.
  private mutating func element() throws(WireError) -> SQLiteValue {
    switch try value("set element").value {
    case .integer(let number): return .integer(number)
    case .real(let number) where number.isFinite && Int64(exactly: number) == nil:
      return .real(number)
    case .text(let bytes)
    where String(validating: bytes, as: UTF8.self) != nil && !bytes.contains(0):
      return .text(bytes)
    default: throw WireError(.malformed, "set element")
    }
  }

  fileprivate mutating func entries(_ replicas: inout ReplicaTable, limit: Int) throws(WireError)
    -> [ElementSet.Entry]
  {
    var entries: [ElementSet.Entry] = []
    for _ in 0..<(try elementCount("set entries", limit)) {
      let element = try element()
      if let last = entries.last, last.element >= element {
        throw WireError(.malformed, "set entries")
      }
      let additions = try additions(&replicas)
      guard !additions.sequences.isEmpty else { throw WireError(.malformed, "set additions") }
      entries.append(.init(element, additions))
    }
    return entries
  }

  fileprivate mutating func additions(_ replicas: inout ReplicaTable) throws(WireError)
    -> VersionVector
  {
    var additions = VersionVector()
    var previous = -1
    for _ in 0..<(try count("set additions")) {
      let index = try varint("set replica")
      let sequence = try varint("set sequence")
      guard index < UInt64(replicas.ids.count), Int(index) > previous,
        (1...VersionVector.maximumSequence).contains(sequence)
      else { throw WireError(.malformed, "set additions") }
      previous = Int(index)
      additions[replicas.use(Int(index))] = sequence
    }
    return additions
  }
}
