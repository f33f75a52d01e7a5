// Cells as stored beside a row: for each, its column and kind, then what the kind holds.

extension RowState {
  private enum StoredKind: UInt64 {
    case unset = 0
    case stamped = 1
    case counter = 2
    case extreme = 3
    case set = 4
    case presence = 5
    case text = 6
    case counterByAuthor = 7
  }

  /// Appends the stored form of the cells; nothing for none.
  package func appendCells(to writer: inout ByteWriter) {
    for cell in cells {
      let column = UInt64(cell.column) << 3
      switch cell.content {
      case .unset:
        writer.append(varint: column | StoredKind.unset.rawValue)
      case .stamped(let stamp):
        writer.append(varint: column | StoredKind.stamped.rawValue)
        writer.append(stamp: stamp)
      case .counter(let sum, let stamp):
        // As it was stored before.
        if sum.shares.isEmpty, let base = sum.base {
          writer.append(varint: column | StoredKind.counter.rawValue)
          writer.append(wide: base)
        } else {
          writer.append(varint: column | StoredKind.counterByAuthor.rawValue)
          sum.append(to: &writer)
        }
        writer.append(stamp: stamp)
      case .extreme(let value, let stamp):
        writer.append(varint: column | StoredKind.extreme.rawValue)
        writer.append(value)
        writer.append(stamp: stamp)
      case .set(let elements, let stamp):
        writer.append(varint: column | StoredKind.set.rawValue)
        elements.append(to: &writer)
        writer.append(stamp: stamp)
      case .text(let cell, let stamp):
        writer.append(varint: column | StoredKind.text.rawValue)
        cell.append(to: &writer)
        writer.append(stamp: stamp)
      case .presence(let presence):
        writer.append(varint: column | StoredKind.presence.rawValue)
        presence.append(to: &writer)
      }
    }
  }

  /// Reads the stored form of cells.
  ///
  /// - Parameter isTrusted: whether they were written here.
  package static func readCells(_ buffer: UnsafeRawBufferPointer, isTrusted: Bool = true)
    throws(WireError) -> [Cell]
  {
    var reader = ByteReader(buffer)
    var cells: [Cell] = []
    while !reader.isAtEnd {
      let header = try reader.varint("cell")
      guard let column = UInt32(exactly: header >> 3),
        let kind = StoredKind(rawValue: header & 7)
      else { throw WireError(.malformed, "cell") }
      let content: Content =
        switch kind {
        case .unset: .unset
        case .stamped: .stamped(try reader.stamp())
        case .counter: .counter(CounterSum(base: try reader.sum()), try reader.stamp())
        case .counterByAuthor: .counter(try CounterSum(&reader), try reader.stamp())
        case .extreme: .extreme(try reader.value("extreme").value ?? .null, try reader.stamp())
        case .set: .set(try ElementSet(&reader), try reader.stamp())
        case .text: .text(try TextCell(&reader, isTrusted: isTrusted), try reader.stamp())
        case .presence: .presence(try Presence(&reader))
        }
      cells.append(Cell(column: column, content: content))
    }
    return cells
  }
}

extension ByteWriter {
  mutating func append(stamp: Stamp) {
    append(fixed: stamp.time.rawValue)
    append(varint: UInt64(stamp.author))
  }
}

extension ByteReader {
  mutating func stamp() throws(WireError) -> Stamp {
    let time = HybridTime(rawValue: try fixed(UInt64.self, "stamp"))
    guard let author = UInt32(exactly: try varint("stamp")) else {
      throw WireError(.malformed, "stamp")
    }
    return Stamp(time: time, author: author)
  }
}
