import TernCore

/// Reads a body to its end and writes what was read.
package func rewritten(_ body: some Collection<UInt8>) throws(WireError) -> [UInt8] {
  let result = Array(body).withUnsafeBytes { bytes in
    Result { () throws(WireError) in
      var reader = BodyReader(bytes)
      var (row, writer) = (BodyRow(), ByteWriter())
      while let block = try reader.nextBlock() {
        writer.append(block: block)
        while try reader.nextRow(&row, of: block) { writer.append(row, of: block) }
        writer.appendEndOfBlock()
      }
      return writer.bytes
    }
  }
  return try result.get()
}

extension ByteWriter {
  fileprivate mutating func append(_ row: BodyRow, of block: BodyBlock) {
    append(row: row.kind, life: row.life)
    for key in row.key { append(key: key) }
    if row.kind == .delete, block.deletes == 1 { append(row.covered) }
    if row.kind == .update {
      var mask = [UInt8](repeating: 0, count: (row.isCarried.count + 7) / 8)
      for (index, isCarried) in row.isCarried.enumerated() where isCarried {
        mask[index / 8] |= 1 << UInt8(index % 8)
      }
      append(raw: mask)
    }
    for (index, value) in row.values.enumerated() where row.isCarried[index] {
      if block.columns[index].rule == 4, let change = try? SetChange(value.content) {
        change.bytes.withUnsafeBytes { append(.blob, bytes: $0) }
      } else if block.columns[index].rule == 5, let change = try? TextChange(value.content) {
        change.bytes.withUnsafeBytes { append(.blob, bytes: $0) }
      } else {
        append(value)
      }
    }
  }
}
