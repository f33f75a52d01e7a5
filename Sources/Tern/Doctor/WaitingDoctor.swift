import TernCore
import TernDatabase

/// Looks at what is in the log and not in the state: groups that are put aside, and parts that the
/// schema did not know.
struct WaitingDoctor {
  private let transaction: StoreTransaction
  private let findings: Findings
  private var tables: StoreTables { transaction.tables }

  init(_ transaction: StoreTransaction, _ findings: Findings) {
    (self.transaction, self.findings) = (transaction, findings)
  }

  func run() throws {
    try checkAside()
    try checkDeferred()
  }

  private func place(_ id: LogID) -> DatabaseFinding.Place {
    let ids = transaction.authors.ids
    let author = id.rawValue >= 0 && Int(id.author) < ids.count ? ids[Int(id.author)] : nil
    return .init(author: author, sequence: id.sequence)
  }

  private func checkAside() throws {
    let select = try transaction.statement(
      "SELECT id, first, detail FROM \(tables.waiting) WHERE reason <> 'schema' ORDER BY id")
    let count = try transaction.statement(
      "SELECT count(*) FROM \(tables.log) WHERE id >= ? AND id <= ?")
    defer { select.reset() }
    while try select.step() {
      let last = LogID(rawValue: select.int64(0))
      let first = select.int64(1)
      let isPossible =
        last.rawValue > 0 && Int(last.author) < transaction.authors.ids.count && first > 0
        && first <= Int64(last.sequence)
      guard isPossible, try last.sequence <= transaction.authorTable.row(last.author).merged else {
        try findings.add(.waitingLost, "a group is put aside that never came", at: place(last))
        continue
      }
      count.bind(1, LogID(author: last.author, sequence: UInt64(first)).rawValue)
      count.bind(2, last.rawValue)
      defer { count.reset() }
      guard try count.step(), count.int64(0) == Int64(last.sequence) - first + 1 else {
        try findings.add(
          .waitingLost, "the log lacks a part of a group that is put aside", at: place(last))
        continue
      }
      let reason = select.value(2).value?.string ?? "nobody said why"
      try findings.add(.waiting, "put aside whole: \(reason)", at: place(last))
    }
  }

  private func checkDeferred() throws {
    var operations: Set<Int64> = []
    let select = try transaction.statement(
      "SELECT id, tbl, col FROM \(tables.waiting) WHERE reason = 'schema' ORDER BY id, tbl, col")
    defer { select.reset() }
    let pass = try MergePass(transaction)
    while try select.step() {
      let id = LogID(rawValue: select.int64(0))
      let part = DeferredPart(
        table: select.value(1).value?.string ?? "", column: select.value(2).value?.string ?? "")
      var place = place(id)
      place.table = part.table
      place.column = part.column.isEmpty ? nil : part.column
      let operation: SyncOperation?
      do {
        operation = try transaction.log.operation(id)
      } catch is WireError {
        // It is found by whoever reads the log.
        continue
      }
      guard let operation else {
        try findings.add(
          .waitingLost, "the log lacks an operation of which a part waits", at: place)
        continue
      }
      if operation.bodyError() != nil { continue }
      if try isKnown(part, operation, pass) {
        try findings.add(
          .waitingKnown, "a part of the operation waits, and the schema knows it", at: place)
      } else if operations.insert(id.rawValue).inserted {
        try findings.add(
          .waiting, "the operation has a table or a column that the schema does not know",
          at: place)
      }
    }
  }

  /// Whether a replay would take the part in.
  private func isKnown(_ part: DeferredPart, _ operation: SyncOperation, _ pass: MergePass) throws
    -> Bool
  {
    var isKnown = false
    var row = BodyRow()
    try operation.forEachBlock { block, reader in
      let shape = block.table.folded == part.table ? try pass.merger(for: block)?.1 : nil
      if let targets = shape?.mapping(of: block).targets {
        let index = block.columns.firstIndex { $0.name.folded == part.column }
        if part.column.isEmpty || index.map({ targets[$0] != nil }) ?? false { isKnown = true }
      }
      while try reader.nextRow(&row, of: block) {}
    }
    return isKnown
  }
}
