// A row of a snapshot: its key, its state, and the values that stand in its table alone.

extension MergeRule.Kind {
  /// Whether a column's value is in its table and not in the row's state.
  package var isKeptInTable: Bool {
    switch self {
    case .lastWriter, .order: true
    case .counter, .maximum, .minimum, .set, .text: false
    }
  }
}

/// A row as read, in place: its values point into the part that holds it.
package struct SnapshotRow {
  package var key: [WireValue] = []
  /// The packed key, as it stands in the part.
  package var packedKey = UnsafeRawBufferPointer(start: nil, count: 0)
  /// Columns are places in the block, authors those in the heading.
  package var state = RowState(life: 0)
  /// For each column of the block its value, where it was written and its table alone has it.
  package var values: [WireValue?] = []
  /// The greatest time that its state carries.
  package var latest = HybridTime.zero

  package init() {}
}

extension ByteWriter {
  /// Appends a row.
  ///
  /// - Parameters:
  ///   - state: in the snapshot's numbers.
  ///   - cells: scratch space.
  ///   - appendValue: of a column that ``MergeRule/Kind/isKeptInTable``, by its place in the block.
  package mutating func append(
    snapshotRow key: UnsafeRawBufferPointer, state: RowState, kinds: [MergeRule.Kind],
    cells: inout ByteWriter, appendValue: (inout ByteWriter, Int) throws -> Void
  ) rethrows {
    append(varint: UInt64(state.life) << 1 | (state.stamp == .zero ? 0 : 1))
    if state.stamp != .zero { append(stamp: state.stamp) }
    append(raw: key)
    guard state.isAlive else { return }
    cells.removeAll()
    state.appendCells(to: &cells)
    append(varint: UInt64(cells.count))
    append(raw: cells.bytes)
    for (index, kind) in kinds.enumerated()
    where kind.isKeptInTable && state.stamp(of: UInt32(index)) != nil {
      try appendValue(&self, index)
    }
  }
}

extension ByteReader {
  /// Reads the next row of a block.
  package mutating func snapshotRow(_ row: inout SnapshotRow, of block: BodyBlock, authors: Int)
    throws(WireError)
  {
    let header = try varint("life")
    guard let life = UInt32(exactly: header >> 1), life > 0, life <= BodyLimit.life + 1 else {
      throw WireError(.malformed, "life")
    }
    row.state = RowState(life: life)
    if header & 1 == 1 { row.state.stamp = try checkedStamp(authors) }
    let start = offset
    row.key.removeAll(keepingCapacity: true)
    for _ in block.keyColumns { row.key.append(try keyValue()) }
    row.packedKey = UnsafeRawBufferPointer(rebasing: buffer[start..<offset])
    row.values = Array(repeating: nil, count: block.columns.count)
    row.latest = row.state.stamp.time
    guard row.state.isAlive else { return }
    if row.state.stamp != .zero { row.state.covered = UInt32(block.columns.count) }
    row.state.cells = try RowState.readCells(
      try bytes(count("cells"), "cells"), isTrusted: false)
    try check(row.state.cells, of: block, authors: authors)
    for cell in row.state.cells {
      for stamp in cell.content.stamps { row.latest = max(row.latest, stamp.time) }
    }
    for (index, column) in block.columns.enumerated() {
      let kind = MergeRule.Kind(rawValue: column.rule)
      if kind?.isKeptInTable ?? true, row.state.stamp(of: UInt32(index)) != nil {
        let value = try value("value")
        guard value.tag != .integer128 else { throw WireError(.malformed, "value") }
        row.values[index] = value
      }
    }
  }

  private mutating func checkedStamp(_ authors: Int) throws(WireError) -> Stamp {
    let stamp = try stamp()
    guard stamp.author < authors, stamp.isPossible else { throw WireError(.malformed, "stamp") }
    return stamp
  }

  private func check(_ cells: [RowState.Cell], of block: BodyBlock, authors: Int)
    throws(WireError)
  {
    var previous = -1
    for cell in cells {
      guard Int(cell.column) > previous else { throw WireError(.malformed, "cells' order") }
      previous = Int(cell.column)
      _ = try cell.content.renumbered { author throws(WireError) in
        guard author < authors else { throw WireError(.malformed, "author") }
        return author
      }
      guard cell.content.stamps.allSatisfy(\.isPossible) else {
        throw WireError(.malformed, "cell's stamp")
      }
      if case .presence(let presence) = cell.content {
        guard block.deletes != DeleteRule.deleteWins.kind.rawValue,
          presence.writes.values.allSatisfy({ 1...VersionVector.maximumSequence ~= $0 })
        else {
          throw WireError(.malformed, "presence")
        }
        continue
      }
      if case .set(let elements, _) = cell.content, !elements.isInOrder {
        throw WireError(.malformed, "elements' order")
      }
      guard Int(cell.column) < block.columns.count else { throw WireError(.malformed, "cell") }
      let kind = MergeRule.Kind(rawValue: block.columns[Int(cell.column)].rule)
      guard let kind else { continue }
      guard cell.content.isOf(kind) else { throw WireError(.malformed, "cell's rule") }
    }
  }
}

extension Stamp {
  /// Whether a clock can have given it.
  fileprivate var isPossible: Bool {
    time > .zero && time.milliseconds <= HybridTime.maximumMilliseconds
  }
}

extension RowState.Content {
  fileprivate var stamps: [Stamp] {
    switch self {
    case .unset: []
    case .stamped(let stamp), .counter(_, let stamp), .extreme(_, let stamp), .set(_, let stamp),
      .text(_, let stamp):
      [stamp]
    case .presence(let presence): [presence.lastWrite, presence.deletion].compactMap { $0 }
    }
  }
}
