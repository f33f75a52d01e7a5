import SeededRandom
import TernCore

/// Random content for the wire, with every tag and every edge of their ranges.
struct RandomWire {
  var generator: SeededGenerator

  init(seed: Int) {
    generator = SeededGenerator(seed: UInt64(seed))
  }

  mutating func integer() -> Int64 {
    let edges: [Int64] = [0, -1, 1 << 60, 1 << 60 - 1, -(1 << 60), -(1 << 60) - 1, .min, .max]
    if Bool.random(using: &generator) { return edges.randomElement(using: &generator)! }
    return Int64(bitPattern: generator.next()) >> Int64.random(in: 0...63, using: &generator)
  }

  mutating func bytes() -> [UInt8] {
    let count = [0, 1, 15, 16, 300].randomElement(using: &generator)!
    return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
  }

  mutating func value() -> SQLiteValue {
    switch Int.random(in: 0..<6, using: &generator) {
    case 0: return .null
    case 1, 2: return .integer(integer())
    case 3:
      let number = Double(bitPattern: generator.next())
      return .real(number.isNaN ? -0.0 : number)
    case 4: return .text(bytes())
    default: return .blob(bytes())
    }
  }

  mutating func elements() -> [SQLiteValue] {
    let values = (0..<Int.random(in: 0...4, using: &generator)).map { _ in value() }
    return Set(values.compactMap(ElementSet.element)).sorted()
  }

  mutating func textChange() -> TextChange {
    let texts: [String] = ["", "a", "été", "🐦\u{0}"]
    if Bool.random(using: &generator) {
      return .initial(Array(texts.randomElement(using: &generator)!.utf8))
    }
    var sequence = TextSequence()
    for turn in 1...3 {
      var edits = TextEdits(count: TextEdits.count(of: sequence.text))
      let start = Int.random(in: 0...edits.count, using: &generator)
      let end = Int.random(in: start...edits.count, using: &generator)
      edits.replace(start..<end, with: texts.randomElement(using: &generator)!)
      let made = sequence.edit(edits.delta) ?? TextEdit()
      if turn == 3 { return .edit(made) }
      let author = ReplicaID(high: 0, low: UInt64(turn))
      _ = sequence.apply(.edit(made), by: author, UInt64(turn))
    }
    return .edit(TextEdit())
  }

  mutating func setChange() -> SetChange {
    let replicas = (0..<3).map { _ in ReplicaID(using: &generator) }
    let removed = elements().map { element in
      let replica = replicas.randomElement(using: &generator)!
      var additions = VersionVector([replicas[0]: 1])
      additions[replica] = .random(in: 1...1 << 40 - 1, using: &generator)
      return ElementSet.Entry(element, additions)
    }
    return SetChange(added: elements(), removed: removed)
  }

  mutating func appendKey(to writer: inout ByteWriter) {
    var value = value()
    if value == .null { value = "key" }
    if case .real(let number) = value, let whole = Int64(exactly: number) {
      value = .integer(whole)
    }
    writer.append(value)
  }

  mutating func body() -> [UInt8] {
    var writer = ByteWriter()
    for number in 0..<Int.random(in: 0...3, using: &generator) {
      let keys = Int.random(in: 1...3, using: &generator)
      let rules = (0..<Int.random(in: 0...20, using: &generator)).map { _ in
        UInt8.random(in: 0...6, using: &generator)
      }
      let block = BodyBlock(
        table: "tábla\(number)", deletes: UInt8.random(in: 0...2, using: &generator),
        keyColumns: (0..<keys).map { "k\($0)" },
        columns: rules.enumerated().map { .init(name: "c\($0)", rule: $1) })
      writer.append(block: block)
      for _ in 0..<Int.random(in: 0...5, using: &generator) {
        appendRow(of: block, to: &writer)
      }
      writer.appendEndOfBlock()
    }
    return writer.bytes
  }

  private mutating func appendRow(of block: BodyBlock, to writer: inout ByteWriter) {
    let kind: RowChange.Kind = [.insert, .update, .delete].randomElement(using: &generator)!
    let odd = UInt32.random(in: 0..<1 << 20, using: &generator) * 2 + 1
    writer.append(row: kind, life: kind == .delete ? odd + 1 : odd)
    for _ in block.keyColumns { appendKey(to: &writer) }
    if kind == .delete {
      if block.deletes == 1 {
        writer.append(
          VersionVector([ReplicaID(using: &generator): 1 << 39, ReplicaID(high: 0, low: 1): 1]))
      }
      return
    }
    var carried = block.columns.map { _ in true }
    if kind == .update {
      carried = block.columns.map { _ in Bool.random(using: &generator) }
      var mask = [UInt8](repeating: 0, count: (carried.count + 7) / 8)
      for (index, isCarried) in carried.enumerated() where isCarried {
        mask[index / 8] |= 1 << UInt8(index % 8)
      }
      writer.append(raw: mask)
    }
    for (column, isCarried) in zip(block.columns, carried) where isCarried {
      if column.rule == 1 {
        let wide = Int128(integer()) &* Int128(integer()) &* 3
        writer.append(wide: wide)
      } else if column.rule == 5 {
        textChange().bytes.withUnsafeBytes { writer.append(.blob, bytes: $0) }
      } else if column.rule == 4 {
        setChange().bytes.withUnsafeBytes { writer.append(.blob, bytes: $0) }
      } else {
        writer.append(value())
      }
    }
  }

  mutating func operation() -> SyncOperation {
    var seen = VersionVector()
    for _ in 0..<Int.random(in: 0...3, using: &generator) {
      seen[ReplicaID(using: &generator)] = .random(in: 1...1 << 40 - 1, using: &generator)
    }
    let envelope = SyncOperation.Envelope(
      replica: ReplicaID(using: &generator),
      sequence: .random(in: 1...1 << 40 - 1, using: &generator),
      time: HybridTime(rawValue: .random(in: 1..<1 << 63, using: &generator)), seen: seen,
      schemaVersion: .random(in: 0...UInt32.max, using: &generator),
      continues: Bool.random(using: &generator))
    return SyncOperation(envelope, body: body())
  }
}
