// An operation's body: blocks, one a table, each a heading and rows. See `Docs/WireFormat.md`.

/// The heading of a block: the names that its rows leave out.
package struct BodyBlock: Hashable, Sendable {
  package struct Column: Hashable, Sendable {
    package var name: String
    /// The author's rule; a raw byte, because peers may be newer.
    package var rule: UInt8

    package init(name: String, rule: UInt8) {
      self.name = name
      self.rule = rule
    }
  }

  package var table: String
  /// The author's rule for deletes; a raw byte, because peers may be newer.
  package var deletes: UInt8
  package var keyColumns: [String]
  package let columns: [Column]
  /// Indices of the columns whose changes name elements.
  package let elementColumns: [Int]

  package init(
    table: String, deletes: UInt8 = DeleteRule.deleteWins.kind.rawValue, keyColumns: [String],
    columns: [Column]
  ) {
    self.table = table
    self.deletes = deletes
    self.keyColumns = keyColumns
    self.columns = columns
    let kinds = [MergeRule.Kind.set.rawValue, MergeRule.Kind.text.rawValue]
    elementColumns = columns.indices.filter { kinds.contains(columns[$0].rule) }
  }
}

/// Limits on a body, enforced by every reader.
package enum BodyLimit {
  package static let columns = 2000
  package static let keyColumns = 64
  /// The most tables and columns that the headings of one body name, each time that they do.
  package static let names = 65_536
  /// The greatest life that travels. Half of what fits, so that a row which a peer brought there
  /// has a next life all the same; that one stays on its device, with
  /// ``SyncOperation/Limit/rowBytes``'s rows.
  package static let life = UInt32.max >> 1
}

extension BodyBlock {
  /// How many tables and columns its heading names.
  package var nameCount: Int { 1 + keyColumns.count + columns.count }
}

extension ByteWriter {
  package mutating func append(block: BodyBlock) {
    append(string: block.table)
    append(byte: block.deletes)
    append(varint: UInt64(block.keyColumns.count))
    for name in block.keyColumns { append(string: name) }
    append(varint: UInt64(block.columns.count))
    for column in block.columns {
      append(string: column.name)
      append(byte: column.rule)
    }
  }

  package static let endOfBlock: UInt64 = 3

  package mutating func append(row kind: RowChange.Kind, life: UInt32) {
    append(varint: UInt64(life) << 2 | UInt64(kind.rawValue))
  }

  package mutating func appendEndOfBlock() {
    append(varint: Self.endOfBlock)
  }
}

/// One row of a block, read in place: its arrays are used again for the next row.
package struct BodyRow {
  package fileprivate(set) var kind = RowChange.Kind.delete
  package fileprivate(set) var life: UInt32 = 0
  /// Of a delete under `.updateWins`: the writes that its author had seen.
  package fileprivate(set) var covered = VersionVector()
  package fileprivate(set) var key: [WireValue] = []
  /// The packed key, as it stands in the body.
  package fileprivate(set) var packedKey = UnsafeRawBufferPointer(start: nil, count: 0)
  /// A value for every column of the block; of those not carried, NULL.
  package fileprivate(set) var values: [WireValue] = []
  package fileprivate(set) var isCarried: [Bool] = []
  /// `isCarried` is of an insert, which carries every column.
  fileprivate var isWhole = false

  package init() {}
}

/// Reads a body block by block and row by row, without copying values.
///
/// A body names a table once, and changes a set or a text of a row once in a life: the elements of
/// two changes would share their ids, and what they make would depend on the way by
/// which they came.
package struct BodyReader {
  private var reader: ByteReader
  /// Tables that were named, by folded name.
  private var tables: Set<String> = []
  /// In the present block: sets and texts that were changed, by life, column and key.
  private var changed: Set<[UInt8]> = []
  private var nameCount = 0

  package init(_ body: UnsafeRawBufferPointer) {
    reader = ByteReader(body)
  }

  /// Goes on where a reader is.
  package init(_ reader: ByteReader) {
    self.reader = reader
  }

  /// What is not read yet.
  package var rest: ByteReader { reader }

  /// The next block's heading, or `nil` at the end of the body.
  package mutating func nextBlock() throws(WireError) -> BodyBlock? {
    if reader.isAtEnd { return nil }
    let table = try reader.string("table name")
    guard tables.insert(table.folded).inserted else { throw WireError(.malformed, "table twice") }
    changed.removeAll(keepingCapacity: true)
    let deletes = try reader.byte("delete rule")
    // It says how rows are to be read.
    guard DeleteRule.Kind(rawValue: deletes) != nil else {
      throw WireError(.unsupportedVersion, "delete rule")
    }
    let keyCount = try reader.count("key column count")
    guard (1...BodyLimit.keyColumns).contains(keyCount) else {
      throw WireError(.malformed, "key column count")
    }
    var keyColumns: [String] = []
    for _ in 0..<keyCount { keyColumns.append(try reader.string("key column")) }
    let columnCount = try reader.count("column count")
    guard columnCount <= BodyLimit.columns else { throw WireError(.tooLarge, "column count") }
    var columns: [BodyBlock.Column] = []
    for _ in 0..<columnCount {
      columns.append(
        .init(name: try reader.string("column"), rule: try reader.byte("column rule")))
    }
    let names = keyColumns + columns.map(\.name)
    nameCount += 1 + names.count
    guard nameCount <= BodyLimit.names else { throw WireError(.tooLarge, "name count") }
    guard Set(names.map(\.folded)).count == names.count else {
      throw WireError(.malformed, "column names")
    }
    return BodyBlock(table: table, deletes: deletes, keyColumns: keyColumns, columns: columns)
  }

  /// Reads the next row of `block`; `false` at the block's end.
  package mutating func nextRow(_ row: inout BodyRow, of block: BodyBlock) throws(WireError)
    -> Bool
  {
    let header = try reader.varint("row")
    if header == ByteWriter.endOfBlock { return false }
    guard let kind = RowChange.Kind(rawValue: UInt8(header & 3)),
      let life = UInt32(exactly: header >> 2), (1...BodyLimit.life).contains(life),
      (life & 1 == 0) == (kind == .delete)
    else { throw WireError(.malformed, "row") }
    row.kind = kind
    row.covered = VersionVector()
    row.life = life
    try readKey(&row, count: block.keyColumns.count)
    row.values.removeAll(keepingCapacity: true)
    // As it was, where one insert follows another.
    if kind != .insert || !row.isWhole || row.isCarried.count != block.columns.count {
      row.isCarried.removeAll(keepingCapacity: true)
      if kind == .insert { for _ in block.columns { row.isCarried.append(true) } }
      row.isWhole = kind == .insert
    }
    switch kind {
    case .delete where block.deletes == DeleteRule.Kind.updateWins.rawValue:
      row.covered = try reader.vector("covered writes", limit: VersionVector.maximumReplicas)
    case .delete: break
    case .insert:
      for column in block.columns { row.values.append(try readValue(of: column)) }
    case .update: try readMasked(&row, columns: block.columns)
    }
    if kind != .delete { try noteChanges(row, of: block) }
    return true
  }

  private mutating func noteChanges(_ row: BodyRow, of block: BodyBlock) throws(WireError) {
    for index in block.elementColumns where row.isCarried[index] {
      var name = ByteWriter()
      name.append(varint: UInt64(row.life))
      name.append(varint: UInt64(index))
      name.append(raw: row.packedKey)
      guard changed.insert(name.bytes).inserted else {
        throw WireError(.malformed, "column changed twice")
      }
    }
  }

  private mutating func readKey(_ row: inout BodyRow, count: Int) throws(WireError) {
    row.key.removeAll(keepingCapacity: true)
    let start = reader.offset
    for _ in 0..<count { row.key.append(try reader.keyValue()) }
    row.packedKey = UnsafeRawBufferPointer(rebasing: reader.buffer[start..<reader.offset])
  }

  /// A counter's difference is a number. One beyond 64 bits is for counters, and for rules that
  /// this version does not know. A set's or a text's change is read here and again where it is
  /// merged, so that no row before it is merged in vain.
  private mutating func readValue(of column: BodyBlock.Column) throws(WireError) -> WireValue {
    let value = try reader.value("value")
    if column.rule == MergeRule.Kind.counter.rawValue {
      guard value.isWhole else { throw WireError(.malformed, "counter") }
    } else if column.rule == MergeRule.Kind.set.rawValue {
      guard value.tag == .blob else { throw WireError(.malformed, "set") }
      _ = try SetChange(value.content)
    } else if column.rule == MergeRule.Kind.text.rawValue {
      guard value.tag == .blob else { throw WireError(.malformed, "text") }
      _ = try TextChange(value.content)
    } else if value.tag == .integer128, MergeRule.Kind(rawValue: column.rule) != nil {
      throw WireError(.malformed, "value")
    }
    return value
  }

  private mutating func readMasked(_ row: inout BodyRow, columns: [BodyBlock.Column])
    throws(WireError)
  {
    let count = columns.count
    let mask = try reader.bytes((count + 7) / 8, "mask")
    for index in 0..<count {
      let isCarried = mask[index / 8] & (1 << (index % 8)) != 0
      row.isCarried.append(isCarried)
      row.values.append(isCarried ? try readValue(of: columns[index]) : WireValue(.null))
    }
    if count % 8 != 0, let last = mask.last, last >> (count % 8) != 0 {
      throw WireError(.malformed, "mask")
    }
  }
}

extension ByteReader {
  /// One value of a key. Equal keys are equal bytes: a whole number travels as an integer.
  mutating func keyValue() throws(WireError) -> WireValue {
    let value = try value("key")
    let isWhole = value.tag == .real && Int64(exactly: Double(bitPattern: value.bits)) != nil
    guard value.tag != .null, value.tag != .integer128, !isWhole else {
      throw WireError(.malformed, "key")
    }
    return value
  }
}
