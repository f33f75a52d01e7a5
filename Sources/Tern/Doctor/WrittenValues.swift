import TernCore
import TernDatabase

/// Compares what the log's operations wrote with what the tables show, where the state says that it
/// stands: of columns whose value is in their table alone, nothing else could tell.
///
/// Only of operations of the present schema version: migrations rewrite what was there before.
final class WrittenValues {
  private let transaction: StoreTransaction
  private let findings: Findings
  private let pass: MergePass
  private let noted: [Int64: NotedKeys]
  private var row = BodyRow()

  init(_ transaction: StoreTransaction, _ findings: Findings, _ noted: [NotedKeys]) throws {
    self.transaction = transaction
    self.findings = findings
    pass = try MergePass(transaction)
    self.noted = Dictionary(
      uniqueKeysWithValues: zip(transaction.sql.map(\.shape.id), noted))
  }

  func check(_ operation: SyncOperation, _ id: LogID) throws {
    guard operation.envelope.schemaVersion == transaction.schemaVersion else { return }
    let stamp = Stamp(time: operation.envelope.time, author: id.author)
    /// A row that comes twice in one operation is merged twice, under one stamp.
    var seen: Set<[UInt8]> = []
    try operation.forEachBlock { block, reader in
      let found = try pass.merger(for: block)
      let mapping = found?.1.mapping(of: block)
      while try reader.nextRow(&row, of: block) {
        guard let (merger, shape) = found, let mapping, row.kind != .delete, shape.holds(row.key),
          seen.insert(Array(block.table.folded.utf8) + [0] + Array(row.packedKey)).inserted
        else { continue }
        let key = Array(row.packedKey)
        if noted[shape.id]?.contains(key) ?? true { continue }
        try check(key, mapping, merger.writer, stamp, id)
      }
    }
  }

  private func check(
    _ key: [UInt8], _ mapping: BlockMapping, _ writer: TableWriter, _ stamp: Stamp, _ id: LogID
  ) throws {
    let shape = writer.sql.shape
    let state: RowState?
    do {
      state = try writer.state(of: key)
    } catch is WireError {
      // It is found by whoever looks at the states.
      return
    }
    guard let state, state.life == row.life, state.isShown else { return }
    if try transaction.large.holds(key, of: shape.id) { return }
    for (source, target) in mapping.targets.enumerated() {
      guard let target, row.isCarried[source] else { continue }
      let column = shape.columns[target]
      guard column.rule.kind.isKeptInTable, state.stamp(of: UInt32(column.id)) == stamp,
        let value = row.values[source].value,
        try writer.read(key) != nil, try !writer.isRemovalRefused(key),
        try !writer.shows(value, in: column.name, of: key)
      else { continue }
      try findings.add(
        .writtenDiffers,
        "the table shows another value than operation \(id.sequence) wrote, which stands",
        at: .init(
          table: shape.name, key: try Self.text(key), column: column.name,
          author: transaction.authors.ids[Int(id.author)], sequence: id.sequence))
    }
  }

  /// A packed key as SQL writes its values.
  static func text(_ key: [UInt8]) throws -> String {
    try key.withUnsafeBytes { try PackedKey.values($0) }.map { "\($0)" }.joined(separator: ", ")
  }
}
