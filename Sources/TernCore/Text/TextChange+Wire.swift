extension TextChange {
  private static let initialForm: UInt8 = 0
  private static let editForm: UInt8 = 1

  package var bytes: [UInt8] {
    var writer = ByteWriter()
    switch self {
    case .initial(let text):
      writer.append(byte: Self.initialForm)
      writer.append(raw: text)
    case .edit(let edit):
      writer.append(byte: Self.editForm)
      edit.append(to: &writer)
    }
    return writer.bytes
  }

  /// Reads a change that takes up all of `bytes`, in its one form.
  package init(_ bytes: UnsafeRawBufferPointer) throws(WireError) {
    var reader = ByteReader(bytes)
    switch try reader.byte("text change") {
    case Self.initialForm:
      let text = try reader.bytes(reader.remaining, "text")
      guard text.count <= Limit.bytes else { throw WireError(.tooLarge, "text") }
      guard UTF8Text.isValid(text) else { throw WireError(.malformed, "text") }
      self = .initial(Array(text))
    case Self.editForm: self = .edit(try TextEdit(&reader))
    default: throw WireError(.malformed, "text change")
    }
  }
}

extension TextEdit {
  fileprivate func append(to writer: inout ByteWriter) {
    // No key path: Swift 6.3 reads one that goes through an optional by copying memory onto itself.
    let named = removed.map(\.first.author) + inserted.compactMap { $0.parent?.author }
    let replicas = Set(named).sorted()
    let indices = Dictionary(
      uniqueKeysWithValues: replicas.enumerated().map { ($1, UInt64($0)) })
    writer.append(varint: UInt64(replicas.count))
    for replica in replicas { writer.append(replica: replica) }
    writer.append(varint: UInt64(removed.count))
    for removal in removed {
      writer.append(varint: indices[removal.first.author]!)
      writer.append(varint: removal.first.sequence)
      writer.append(varint: UInt64(removal.first.offset))
      writer.append(varint: UInt64(removal.count))
    }
    writer.append(varint: UInt64(inserted.count))
    for insertion in inserted {
      if let parent = insertion.parent {
        writer.append(varint: (indices[parent.author]! + 1) << 1 | (insertion.isBefore ? 1 : 0))
        writer.append(varint: parent.sequence)
        writer.append(varint: UInt64(parent.offset))
      } else {
        writer.append(varint: 0)
      }
      writer.append(varint: UInt64(insertion.byteCount))
    }
    writer.append(raw: text)
  }

  fileprivate init(_ reader: inout ByteReader) throws(WireError) {
    var table = try TextReplicas(&reader)
    for _ in 0..<(try reader.count("text removals", limit: TextChange.Limit.removals)) {
      let first = try reader.element(
        of: &table, at: try reader.varint("text replica"))
      let count = try reader.varint("text removal")
      guard count > 0, count <= UInt64(TextChange.Limit.bytes) - UInt64(first.offset) else {
        throw WireError(.malformed, "text removal")
      }
      let removal = Removal(first: first, count: UInt32(count))
      if let last = removed.last {
        guard last < removal,
          last.first.author != first.author
            || last.first.sequence != first.sequence
            || last.first.offset + last.count <= first.offset
        else { throw WireError(.malformed, "text removals") }
      }
      removed.append(removal)
    }
    try readInsertions(&reader, &table)
    guard reader.isAtEnd, table.isAllUsed else { throw WireError(.malformed, "text change") }
  }

  private mutating func readInsertions(
    _ reader: inout ByteReader, _ table: inout TextReplicas
  ) throws(WireError) {
    var total: UInt64 = 0
    for _ in 0..<(try reader.count("text insertions", limit: TextChange.Limit.insertions)) {
      let head = try reader.varint("text parent")
      guard head != 1 else { throw WireError(.malformed, "text parent") }
      let parent: TextElementID? =
        head == 0 ? nil : try reader.element(of: &table, at: (head >> 1) &- 1)
      let count = try reader.varint("text insertion")
      guard count > 0 else { throw WireError(.malformed, "text insertion") }
      guard count <= UInt64(TextChange.Limit.bytes) else {
        throw WireError(.tooLarge, "text insertion")
      }
      total += count
      inserted.append(
        Insertion(parent: parent, isBefore: head & 1 == 1, count: 0, byteCount: UInt32(count)))
    }
    guard total <= UInt64(TextChange.Limit.bytes) else { throw WireError(.tooLarge, "text") }
    text = Array(try reader.bytes(Int(total), "text"))
    try countElements()
  }

  private mutating func countElements() throws(WireError) {
    var isValid = true
    text.withUnsafeBytes { text in
      var start = 0
      for index in inserted.indices {
        let end = start + Int(inserted[index].byteCount)
        let run = UnsafeRawBufferPointer(rebasing: text[start..<end])
        isValid = isValid && UTF8Text.isValid(run)
        inserted[index].count = UInt32(scalarCount(run))
        start = end
      }
    }
    guard isValid else { throw WireError(.malformed, "text") }
  }
}

enum UTF8Text {
  static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
    String(validating: bytes, as: UTF8.self) != nil
  }
}

/// The replicas that a change or a state names, each once and in their order.
struct TextReplicas {
  let ids: [ReplicaID]
  fileprivate(set) var isUsed: [Bool]

  var isAllUsed: Bool { !isUsed.contains(false) }

  init(_ reader: inout ByteReader) throws(WireError) {
    var ids: [ReplicaID] = []
    for _ in 0..<(try reader.count("text replicas", limit: VersionVector.maximumReplicas)) {
      let id = try reader.replica("text replica")
      if let last = ids.last, last >= id { throw WireError(.malformed, "text replicas") }
      ids.append(id)
    }
    self.ids = ids
    isUsed = Array(repeating: false, count: ids.count)
  }
}

extension ByteReader {
  fileprivate mutating func count(_ field: String, limit: Int) throws(WireError) -> Int {
    let count = try count(field)
    guard count <= limit else { throw WireError(.tooLarge, field) }
    return count
  }

  fileprivate mutating func element(
    of table: inout TextReplicas, at index: UInt64
  ) throws(WireError) -> TextElementID {
    let sequence = try varint("text sequence")
    let offset = try varint("text offset")
    guard index < UInt64(table.ids.count), sequence <= VersionVector.maximumSequence,
      offset < UInt64(TextChange.Limit.bytes)
    else { throw WireError(.malformed, "text element") }
    table.isUsed[Int(index)] = true
    return TextElementID(table.ids[Int(index)], sequence, UInt32(offset))
  }
}
