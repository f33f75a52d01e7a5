import Tern

/// Operations as honest replicas write them, one for each feature of the format.
enum WireSamples {
  static let tables: [BodyBlock] = [
    BodyBlock(
      table: "item", keyColumns: ["id"],
      columns: [
        .init(name: "name", rule: 0), .init(name: "note", rule: 0),
        .init(name: "count", rule: 1), .init(name: "high", rule: 2), .init(name: "low", rule: 3),
      ]),
    BodyBlock(
      table: "part", keyColumns: ["item", "number"],
      columns: [.init(name: "weight", rule: 0), .init(name: "flag", rule: 0)]),
  ]

  private static func packed(_ values: [SQLiteValue]) -> [UInt8] {
    var writer = ByteWriter()
    for value in values { writer.append(value) }
    return writer.bytes
  }

  /// A block with rows given by kind, life and the values behind those, masks included.
  private static func block(
    _ block: BodyBlock, _ rows: [(RowChange.Kind, UInt32, [UInt8])]
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(block: block)
    for (kind, life, bytes) in rows {
      writer.append(row: kind, life: life)
      writer.append(raw: bytes)
    }
    writer.appendEndOfBlock()
    return writer.bytes
  }

  static func bodies() -> [[UInt8]] {
    let (item, part) = (tables[0], tables[1])
    let wide = [7] + [UInt8](repeating: 0xFF, count: 15) + [0x7F]
    return [
      [],
      block(item, [(.insert, 1, packed(["1", "Dune", .null, 3, 0.5, "low"]))]),
      block(item, [(.update, 1, packed(["1"]) + [0b00101] + packed(["Dune II", -4]))]),
      block(item, [(.update, 1, packed(["2"]) + [0b11100] + wide + packed([9, -0.0]))]),
      block(
        item, [(.delete, 2, packed(["1"])), (.insert, 3, packed(["1", "", "", 0, .null, .null]))]),
      block(part, [(.insert, 1, packed(["1", 7, 2.5, 1])), (.delete, 2, packed(["1", 8]))]),
      block(part, [(.insert, 1, packed(["nobody", .integer(.min), .real(.infinity), 2]))])
        + block(
          item, [(.insert, 1, packed([.blob([0]), .text([0xFF]), .blob([]), 1, .null, .null]))]),
      block(
        BodyBlock(table: "later", keyColumns: ["k"], columns: [.init(name: "c", rule: 6)]),
        [(.insert, 1, packed(["1", "text"]))]),
    ]
  }

  static func operations() -> [SyncOperation] {
    var seen = VersionVector()
    return bodies().enumerated().map { index, body in
      let number = UInt64(index + 1)
      defer { seen[ReplicaID(high: number, low: 1)] = number }
      return SyncOperation(
        .init(
          replica: ReplicaID(high: 0xF0, low: number % 3), sequence: number / 3 + 1,
          time: HybridTime(rawValue: 1_700_000_000_000 << 16 + number), seen: seen,
          schemaVersion: 3, continues: index == 3), body: body)
    }
  }

  static func batches() -> [[UInt8]] {
    let all = operations()
    let uuids = ["6f1c2a9e-0b7d-4c55-9d3e-a1b2c3d4e5f6", "6F1C2A9E-0B7D-4C55-9D3E-A1B2C3D4E5F6"]
    let known = uuids.enumerated().map { index, key in
      let (number, item) = (UInt64(index + 1), tables[0])
      return SyncOperation(
        .init(
          replica: ReplicaID(high: 1, low: 2), sequence: number,
          time: HybridTime(rawValue: 1_700_000_000_000 << 16 + number)),
        body: block(item, [(.insert, 1, packed([.string(key), "", "", 1, .null, .null]))]))
    }
    return [
      OperationBatch([]).encoded(), OperationBatch([all[1]]).encoded(),
      OperationBatch(all).encoded(), OperationBatch(known).encoded(),
    ]
  }
}
