import GRDB
import TernCore
import TernDatabase

/// Merges one page of operations inside the caller's transaction: a seal first, then operation by
/// operation, then what foreign keys and held rows make of the result, and the cursor last.
final class MergePass {
  private let transaction: StoreTransaction
  private let concurrency: Concurrency
  private var mergers: [Int64: RowMerger] = [:]
  private let hasHeld: Bool
  private(set) var summary = MergeSummary()
  private var row = BodyRow()

  init(_ transaction: StoreTransaction) throws {
    self.transaction = transaction
    concurrency = Concurrency(transaction)
    hasHeld = try transaction.hasHeldRows()
  }

  // MARK: - Operations

  /// Stores an operation, and merges its group when this completes it.
  func take(_ operation: Operation) throws {
    let envelope = operation.envelope
    let index = transaction.authors.add(envelope.replica)
    var author = try transaction.author(index)
    if envelope.sequence <= author.stored {
      summary.repeatedOperations += 1
      return
    }
    guard index != 0 else { throw MergeError(.foreignOwn, envelope.replica, envelope.sequence) }
    guard envelope.sequence == author.stored + 1 else {
      throw MergeError(.gap, envelope.replica, envelope.sequence)
    }
    let isFragment = author.stored > author.merged
    guard isFragment ? envelope.time == author.time : envelope.time > author.time else {
      throw MergeError(.timeNotIncreasing, envelope.replica, envelope.sequence)
    }
    if author.stored == 0 { try transaction.save(author, of: index) }
    for replica in envelope.seen.sequences.keys where transaction.authors.index(of: replica) == nil
    {
      let seen = transaction.authors.add(replica)
      try transaction.save(.init(stored: 0, merged: 0, time: .zero), of: seen)
    }
    try concurrency.note(envelope.seen, by: index)
    try transaction.appendToLog(operation, author: index)
    author.stored = envelope.sequence
    author.time = envelope.time
    summary.mergedOperations += 1
    if !envelope.continues {
      try mergeGroup(author.merged + 1..<envelope.sequence, last: operation, author: index)
      author.merged = envelope.sequence
      transaction.lastTime = max(transaction.lastTime, envelope.time)
    }
    try transaction.save(author, of: index)
  }

  private func mergeGroup(_ earlier: Range<UInt64>, last: Operation, author: UInt32) throws {
    for sequence in earlier {
      let id = LogID(author: author, sequence: sequence)
      guard let fragment = try transaction.operation(id) else {
        throw ReplicaError(.damaged, "the log lacks a fragment that it acknowledged")
      }
      try merge(fragment, author: author)
    }
    try merge(last, author: author)
  }

  private func merge(_ operation: Operation, author: UInt32) throws {
    let stamp = Stamp(time: operation.envelope.time, author: author)
    var isWhole = true
    try operation.forEachBlock { block, reader in
      let merger = try merger(for: block)
      let mapping = merger.map { $0.1.mapping(of: block) }
      isWhole = isWhole && mapping.map { !$0.targets.contains(nil) } ?? false
      while try reader.nextRow(&row, of: block) {
        guard let (merger, _) = merger, let mapping else { continue }
        try merger.merge(row, stamp: stamp, mapping: mapping, concurrency: concurrency)
      }
    }
    if !isWhole {
      try transaction.deferOperation(LogID(author: author, sequence: operation.envelope.sequence))
    }
  }

  /// Merges the parts of an operation that the schema did not know when it arrived.
  func replay(_ operation: Operation, author: UInt32, new: [Int64: Catalogue.Change]) throws -> Bool
  {
    let stamp = Stamp(time: operation.envelope.time, author: author)
    var isWhole = true
    try operation.forEachBlock { block, reader in
      let found = try merger(for: block)
      var mapping = found?.1.mapping(of: block)
      isWhole = isWhole && mapping.map { !$0.targets.contains(nil) } ?? false
      if let change = found.flatMap({ new[$0.1.id] }), !change.isNewTable {
        mapping?.restrict(to: change)
      } else if found.map({ new[$0.1.id] == nil }) ?? true {
        mapping = nil
      }
      while try reader.nextRow(&row, of: block) {
        guard let (merger, _) = found, let mapping else { continue }
        try merger.merge(row, stamp: stamp, mapping: mapping, concurrency: concurrency)
      }
    }
    return isWhole
  }

  private func merger(for block: BodyBlock) throws -> (RowMerger, TableShape)? {
    guard
      let sql = transaction.sql.first(where: {
        $0.shape.name.folded == block.table.folded
          && $0.shape.keyColumns.count == block.keyColumns.count
      })
    else { return nil }
    if let merger = mergers[sql.shape.id] { return (merger, sql.shape) }
    let merger = try RowMerger(transaction, sql, hasHeld: hasHeld)
    mergers[sql.shape.id] = merger
    return (merger, sql.shape)
  }

  // MARK: - The end

  /// Settles what is held aside, drops the notes of the merge's own writes and tells observers.
  func finish() throws {
    let settlement = try Settlement(transaction, writers: mergers.mapValues(\.writer))
    let writers = try settlement.run()
    for (index, id) in transaction.sql.map(\.shape.id).enumerated() {
      // An app's trigger may have written to any table, so all are cleared.
      try transaction.statement(transaction.sql[index].deleteNotes).run()
      if let writer = writers[id], writer.hasChanged {
        summary.changedTables.insert(transaction.sql[index].shape.name)
        try transaction.db.notifyChanges(in: Table(transaction.sql[index].shape.name))
      }
    }
    try concurrency.save()
    summary.conflicts = concurrency.counts
    try transaction.saveClock()
  }
}

extension Operation {
  /// Calls `body` for each block with the reader before its first row; `body` reads every row.
  package func forEachBlock(_ body: (BodyBlock, inout BodyReader) throws -> Void) throws {
    try bytes.withUnsafeBytes { buffer in
      var reader = BodyReader(UnsafeRawBufferPointer(rebasing: buffer[bodyOffset...]))
      while let block = try reader.nextBlock() { try body(block, &reader) }
    }
  }
}

extension TableShape {
  /// Where a block's columns stand here; a column of another rule counts as unknown.
  func mapping(of block: BodyBlock) -> RowMerger.Mapping {
    let targets = block.columns.map { column in
      columns.firstIndex {
        $0.name.folded == column.name.folded && $0.rule.kind.rawValue == column.rule
      }
    }
    let order = columns.indices.map { column in targets.firstIndex { $0 == column } }
    let isExact = !order.contains(nil) && targets.count == columns.count
    return RowMerger.Mapping(targets: targets, order: isExact ? order.compactMap { $0 } : nil)
  }
}

extension RowMerger.Mapping {
  /// Keeps the columns that are new in this version of the schema.
  mutating func restrict(to change: Catalogue.Change) {
    targets = targets.map { target in
      target.flatMap { change.newColumns.contains(change.shape.columns[$0].id) ? $0 : nil }
    }
    order = nil
    isReplay = true
  }
}
