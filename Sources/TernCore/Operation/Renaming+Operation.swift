extension Renaming {
  /// One of the operations, which all are the old one's after ``last``.
  ///
  /// - Parameter seen: what the old one had said by then that it had seen. The new one says it with
  ///   its first, and the old one's own besides.
  /// - Throws: ``WireError`` for a body that cannot be read.
  package func renamed(_ operation: SyncOperation, seen: VersionVector) throws -> SyncOperation {
    precondition(operation.envelope.replica == old && operation.envelope.sequence > last)
    var envelope = operation.envelope
    (envelope.replica, envelope.sequence) = (new, envelope.sequence - last)
    if envelope.sequence == 1 {
      envelope.seen = VersionVector(
        seen.sequences.merging(envelope.seen.sequences) { max($0, $1) })
      envelope.seen[old] = last
    }
    var body = ByteWriter()
    var row = BodyRow()
    try operation.forEachBlock { block, reader in
      body.append(block: block)
      while try reader.nextRow(&row, of: block) { try append(row, of: block, to: &body) }
      body.appendEndOfBlock()
    }
    return SyncOperation(envelope, body: body.bytes)
  }

  private func append(_ row: BodyRow, of block: BodyBlock, to body: inout ByteWriter)
    throws(WireError)
  {
    body.append(row: row.kind, life: row.life)
    body.append(raw: row.packedKey)
    if row.kind == .delete, block.deletes == DeleteRule.Kind.updateWins.rawValue {
      body.append(renamed(upTo: row.covered))
    }
    if row.kind == .update { body.append(mask: row.isCarried) }
    for index in row.values.indices where row.isCarried[index] {
      let (column, value) = (block.columns[index], row.values[index])
      switch MergeRule.Kind(rawValue: column.rule) {
      case .set:
        let change = try SetChange(value.content)
        body.append(
          .blob(
            SetChange(
              added: change.added,
              removed: change.removed.map { .init($0.element, renamed(exactly: $0.additions)) }
            ).bytes))
      case .text: body.append(.blob(renamed(try TextChange(value.content)).bytes))
      default: body.append(value)
      }
    }
  }
}

extension ByteWriter {
  /// A bit for every column, the first one's the least significant of the first byte.
  fileprivate mutating func append(mask isCarried: [Bool]) {
    for start in stride(from: 0, to: isCarried.count, by: 8) {
      let bits = isCarried[start..<min(start + 8, isCarried.count)].enumerated()
      append(byte: bits.reduce(0) { $0 | ($1.element ? 1 << UInt8($1.offset) : 0) })
    }
  }
}
