import Tern

/// Writes operations that no honest replica writes.
struct Forger {
  static let id = ReplicaID(high: 0xBAD, low: 0xBAD)
  static let now: Int64 = 1_700_000_000_000

  var author = Forger.id
  var sequence: UInt64 = 0
  var time = HybridTime(milliseconds: Forger.now - 60_000)
  var seen = VersionVector()

  mutating func write(
    at time: HybridTime? = nil, _ build: (inout ByteWriter) -> Void = { _ in }
  ) -> SyncOperation {
    sequence += 1
    self.time = time ?? self.time.next(atMilliseconds: 0)
    var body = ByteWriter()
    build(&body)
    return SyncOperation(
      .init(
        replica: author, sequence: sequence, time: self.time, seen: seen, schemaVersion: 3),
      body: body.bytes)
  }

  /// One block with one row that holds the given bytes behind its key.
  mutating func row(
    _ values: [UInt8], of table: String = "item", keys: [String] = ["id"],
    key: [UInt8] = Forger.packed("forged"), columns: [(String, UInt8)] = [("name", 0)],
    life: UInt32 = 1
  ) -> SyncOperation {
    write {
      $0.append(
        block: BodyBlock(
          table: table, keyColumns: keys, columns: columns.map { .init(name: $0.0, rule: $0.1) }))
      $0.append(row: .insert, life: life)
      $0.append(raw: key)
      $0.append(raw: values)
      $0.appendEndOfBlock()
    }
  }

  /// One row of which a column is changed by two changes, each in a blob.
  mutating func twice(rule: MergeRule.Kind, _ changes: [UInt8]...) -> SyncOperation {
    write { writer in
      writer.append(
        block: BodyBlock(
          table: "item", keyColumns: ["id"],
          columns: [.init(name: "several", rule: rule.rawValue)]))
      for change in changes {
        writer.append(row: .update, life: 1)
        writer.append(raw: Forger.packed("forged"))
        writer.append(byte: 1)
        writer.append(raw: Forger.packed(.blob(change)))
      }
      writer.appendEndOfBlock()
    }
  }

  static func packed(_ values: SQLiteValue...) -> [UInt8] {
    var writer = ByteWriter()
    for value in values { writer.append(value) }
    return writer.bytes
  }
}
