@testable import TernCore

/// What the files under `Fixtures/v1` were made of. They are never made again: what reads them has to
/// go on reading them.
enum WireSpecimens {
  static let a = ReplicaID(high: 0xA, low: 0xA1)
  static let b = ReplicaID(high: 0xB, low: 0xB2)

  private static func time(_ counter: UInt64 = 0) -> HybridTime {
    HybridTime(rawValue: UInt64(1_700_000_000_000) << 16 | counter)
  }

  private static func envelope(
    _ sequence: UInt64, counter: UInt64 = 0, seen: VersionVector = .init(), continues: Bool = false,
    by replica: ReplicaID = a
  ) -> SyncOperation.Envelope {
    SyncOperation.Envelope(
      replica: replica, sequence: sequence, time: time(counter), seen: seen, schemaVersion: 3,
      continues: continues)
  }

  /// Every kind of row, rule and value.
  static var rows: SyncOperation {
    var body = ByteWriter()
    body.append(
      block: BodyBlock(
        table: "book", deletes: 0, keyColumns: ["isbn", "copy"],
        columns: [
          .init(name: "title", rule: 0), .init(name: "scans", rule: 1),
          .init(name: "best", rule: 2),
          .init(name: "first", rule: 3), .init(name: "place", rule: 6),
        ]))
    body.append(row: .insert, life: 1)
    for value: SQLiteValue in ["1", 7, "Dune", 300, 2.5, .null, "V.k3XbQ0"] { body.append(value) }
    body.append(row: .insert, life: 3)
    for value: SQLiteValue in [.blob([0, 255]), -1, .text([0xFF]), .integer(.min), .real(-0.0)] {
      body.append(value)
    }
    for value: SQLiteValue in [.integer(.max), .blob([])] { body.append(value) }
    body.append(row: .update, life: 1)
    for value: SQLiteValue in ["2", 0] { body.append(value) }
    body.append(byte: 0b00010)
    body.append(wide: -(1 << 64))
    body.append(row: .delete, life: 4)
    for value: SQLiteValue in ["3", 1] { body.append(value) }
    body.appendEndOfBlock()
    body.append(
      block: BodyBlock(
        table: "shelf", deletes: 1, keyColumns: ["id"], columns: [.init(name: "name", rule: 0)]))
    body.append(row: .delete, life: 2)
    body.append("s" as SQLiteValue)
    body.append(VersionVector([a: 4, b: 9]))
    body.appendEndOfBlock()
    body.append(block: BodyBlock(table: "tag", deletes: 2, keyColumns: ["id"], columns: []))
    body.append(row: .update, life: 1)
    body.append("t" as SQLiteValue)
    body.appendEndOfBlock()
    return SyncOperation(envelope(5, seen: VersionVector([b: 9])), body: body.bytes)
  }

  /// Changes of sets and texts.
  static var elements: SyncOperation {
    var edit = TextEdit()
    edit.removed = [.init(first: TextElementID(b, 4, 1), count: 2)]
    edit.inserted = [
      .init(parent: nil, isBefore: false, count: 1, byteCount: 2),
      .init(parent: TextElementID(a, 3, 0), isBefore: true, count: 2, byteCount: 2),
    ]
    edit.text = Array("éab".utf8)
    let set = SetChange(
      added: [1, 2.5, "new"], removed: [.init("old", VersionVector([a: 2, b: 3]))])
    var body = ByteWriter()
    body.append(
      block: BodyBlock(
        table: "note", deletes: 1, keyColumns: ["id"],
        columns: [.init(name: "tags", rule: 4), .init(name: "body", rule: 5)]))
    body.append(row: .insert, life: 1)
    body.append("n" as SQLiteValue)
    body.append(SQLiteValue.blob(SetChange(added: ["x"]).bytes))
    body.append(SQLiteValue.blob(TextChange.initial(Array("Call me".utf8)).bytes))
    body.append(row: .update, life: 1)
    body.append("m" as SQLiteValue)
    body.append(byte: 0b11)
    body.append(SQLiteValue.blob(set.bytes))
    body.append(SQLiteValue.blob(TextChange.edit(edit).bytes))
    body.appendEndOfBlock()
    return SyncOperation(envelope(6, counter: 1), body: body.bytes)
  }

  /// A group of two.
  static var fragments: [SyncOperation] {
    [
      SyncOperation(envelope(7, counter: 2, continues: true), body: []),
      SyncOperation(envelope(8, counter: 2), body: []),
    ]
  }

  /// Rows that name UUIDs, which a batch packs.
  static var identifiers: [SyncOperation] {
    (0..<8).map { number in
      var body = ByteWriter()
      body.append(block: BodyBlock(table: "item", keyColumns: ["id"], columns: []))
      body.append(row: .insert, life: 1)
      body.append(SQLiteValue.string("3F2504E0-4F89-41D3-9A0C-0305E82C330\(number)"))
      body.appendEndOfBlock()
      return SyncOperation(
        envelope(UInt64(9 + number), counter: UInt64(3 + number)), body: body.bytes)
    }
  }

  /// Authors who take turns, one of whom skips a number.
  static var turns: [SyncOperation] {
    [(a, 3), (b, 7), (a, 4), (b, 8), (a, 6), (b, 9), (a, 7)].enumerated().map { index, turn in
      SyncOperation(envelope(turn.1, counter: UInt64(index), by: turn.0), body: [])
    }
  }

  // MARK: - Parts of a snapshot

  static var heading: [UInt8] {
    var writer = ByteWriter()
    writer.append(byte: SnapshotPart.Kind.heading.rawValue)
    SnapshotHeading(
      schemaVersion: 3,
      authors: [
        .init(id: a, sequence: 8, time: time(2)), .init(id: b, sequence: 9, time: time(1)),
      ]
    ).append(to: &writer)
    return writer.bytes
  }

  /// Written by hand: Tern compresses what gets shorter.
  static var plainPart: [UInt8] {
    var checksum = Checksum()
    checksum.add(heading)
    var writer = ByteWriter()
    writer.append(raw: Array("TSN1".utf8) + [0])
    writer.append(fixed: checksum.value)
    writer.append(varint: UInt64(heading.count))
    writer.append(raw: heading)
    return writer.bytes
  }

  static let columns: [BodyBlock.Column] = [
    .init(name: "title", rule: 0), .init(name: "scans", rule: 1), .init(name: "best", rule: 2),
    .init(name: "tags", rule: 4), .init(name: "body", rule: 5),
  ]

  /// What each of two authors added.
  static var shares: CounterSum {
    var sum = CounterSum(base: 5)
    (sum[0], sum[1]) = (1 << 70, -3)
    return sum
  }

  /// Living rows with a cell of every kind, and a deleted one.
  static func snapshotRows(_ sum: CounterSum) -> [UInt8] {
    let (mine, theirs) = (Stamp(time: time(2), author: 0), Stamp(time: time(1), author: 1))
    var set = ElementSet()
    _ = set.apply(SetChange(added: ["x", 4]), by: a, Turn(sequence: 6, settled: 6))
    var text = TextSequence()
    _ = text.apply(.initial(Array("Call me".utf8)), by: a, 6)
    let cells: [RowState.Cell] = [
      .init(column: 0, content: .stamped(theirs)),
      .init(column: 1, content: .counter(sum, mine)),
      .init(column: 2, content: .extreme(2.5, theirs)),
      .init(column: 3, content: .set(set, mine)),
      .init(column: 4, content: .text(TextCell(text), mine)),
    ]
    let full = RowState(life: 1, stamp: mine, covered: 5, cells: cells)
    let unset = RowState(
      life: 3, stamp: theirs, covered: 5,
      cells: (1..<5).map { .init(column: $0, content: .unset) })
    let dead = RowState(life: 2, stamp: mine)
    var writer = ByteWriter()
    var scratch = ByteWriter()
    writer.append(byte: SnapshotPart.Kind.rows.rawValue)
    writer.append(block: BodyBlock(table: "book", keyColumns: ["id"], columns: columns))
    for (key, state) in [("1", full), ("2", unset), ("3", dead)] {
      let packed = PackedKey.bytes(of: [.string(key)])
      packed.withUnsafeBytes { key in
        writer.append(
          snapshotRow: key, state: state,
          kinds: columns.map { MergeRule.Kind(rawValue: $0.rule)! }, cells: &scratch
        ) { writer, _ in writer.append("Dune" as SQLiteValue) }
      }
    }
    return writer.bytes
  }
}
