import TernCore

/// What was read, a line for each thing, to compare with literals.
enum WireTranscript {
  static func lines(of batch: OperationBatch) throws -> [String] {
    try batch.operations.flatMap(lines)
  }

  static func lines(of operation: SyncOperation) throws -> [String] {
    let envelope = operation.envelope
    var lines = [
      "operation \(envelope.sequence) of \(envelope.replica.short) at "
        + "\(envelope.time.milliseconds)+\(envelope.time.rawValue & 0xFFFF), schema "
        + "\(envelope.schemaVersion)\(envelope.continues ? ", continues" : "")"
    ]
    lines += envelope.seen.sorted.map { "seen \($0.replica.short) \($0.sequence)" }
    var row = BodyRow()
    try operation.forEachBlock { block, reader in
      lines.append(line(of: block))
      while try reader.nextRow(&row, of: block) { lines.append(try line(of: row, block)) }
    }
    return lines
  }

  static func line(of block: BodyBlock) -> String {
    let columns = block.columns.map { "\($0.name):\($0.rule)" }.joined(separator: " ")
    return "table \(block.table), deletes \(block.deletes), key "
      + "\(block.keyColumns.joined(separator: " ")), columns \(columns)"
  }

  private static func line(of row: BodyRow, _ block: BodyBlock) throws -> String {
    let key = row.key.map { "\($0.value ?? .null)" }.joined(separator: " ")
    var line = "\(row.kind) \(row.life) [\(key)]"
    for entry in row.covered.sorted { line += " covers \(entry.replica.short) \(entry.sequence)" }
    for (index, column) in block.columns.enumerated()
    where row.kind != .delete && row.isCarried[index] {
      line += " \(column.name)=\(try text(of: row.values[index], rule: column.rule))"
    }
    return line
  }

  private static func text(of value: WireValue, rule: UInt8) throws -> String {
    switch MergeRule.Kind(rawValue: rule) {
    case .counter: return "\(value.wide ?? 0)"
    case .set:
      let change = try SetChange(value.content)
      let removed = change.removed.map { entry in
        let seen = entry.additions.sorted.map { "\($0.replica.short):\($0.sequence)" }
        return "-\(entry.element)(\(seen.joined(separator: ",")))"
      }
      return "{" + (change.added.map { "+\($0)" } + removed).joined(separator: " ") + "}"
    case .text: return text(of: try TextChange(value.content))
    default: return "\(value.value ?? .null)"
    }
  }

  private static func text(of change: TextChange) -> String {
    switch change {
    case .initial(let text): return "«\(String(decoding: text, as: UTF8.self))»"
    case .edit(let edit):
      let removed = edit.removed.map { "-\(text(of: $0.first))x\($0.count)" }
      let inserted = edit.inserted.map { run in
        let parent = run.parent.map { text(of: $0) } ?? "start"
        return "+\(run.count) \(run.isBefore ? "before" : "behind") \(parent)"
      }
      return (removed + inserted + ["«\(String(decoding: edit.text, as: UTF8.self))»"])
        .joined(separator: " ")
    }
  }

  private static func text(of id: TextElementID) -> String {
    "\(id.author.short):\(id.sequence):\(id.offset)"
  }
}

extension ReplicaID {
  /// Its last four digits.
  var short: String { String(description.suffix(4)) }
}
