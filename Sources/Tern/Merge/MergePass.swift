import GRDB
import TernCore
import TernDatabase

/// Merges one page of operations inside the caller's transaction: a seal first, then operation by
/// operation, then what foreign keys and held rows make of the result, and the cursor last.
final class MergePass {
  private let transaction: StoreTransaction
  let concurrency: Concurrency
  private var mergers: [Int64: RowMerger] = [:]
  private let hasHeld: Bool
  /// Whether bodies are read once before they are merged, because one of them cannot be.
  private let isCheckingBodies: Bool
  /// The remote's clock, or 0.
  private let remoteMilliseconds: Int64
  private(set) var summary = MergeSummary()
  private var row = BodyRow()
  /// By table, keys that its columns can hold since an upgrade, and that were in no state before.
  private var newKeys: [Int64: Set<[UInt8]>] = [:]
  /// Of the remote that the page is from.
  private let forks: RemoteForks?
  /// The last operation that is taken of replicas that a remote has banned.
  private let bans: [ReplicaID: UInt64]

  init(
    _ transaction: StoreTransaction, isCheckingBodies: Bool = false, remoteMilliseconds: Int64 = 0,
    forks: RemoteForks? = nil
  )
    throws
  {
    self.transaction = transaction
    self.forks = forks
    self.isCheckingBodies = isCheckingBodies
    let isBelieved = HybridTime.believedMilliseconds.contains(remoteMilliseconds)
    self.remoteMilliseconds = isBelieved ? remoteMilliseconds : 0
    concurrency = Concurrency(transaction)
    hasHeld = try transaction.held.hasRows()
    bans = try transaction.remotes.bans()
  }

  // MARK: - Operations

  /// Stores an operation, and merges its group when this completes it.
  ///
  /// - Parameter isOwn: whether this replica wrote it, and merges it again on top of a snapshot.
  func take(_ operation: SyncOperation, isOwn: Bool = false) throws {
    let envelope = operation.envelope
    // INV-13: from whichever remote it comes.
    if let ban = bans[envelope.replica], envelope.sequence > ban,
      envelope.replica != transaction.ownID
    {
      summary.leftOutOperations += 1
      return
    }
    let index = transaction.authors.add(envelope.replica)
    var author = try transaction.authorTable.row(index)
    if envelope.sequence <= author.stored {
      summary.repeatedOperations += 1
      let id = LogID(author: index, sequence: envelope.sequence)
      let isOther = try transaction.log.isOther(operation, than: id)
      if isOther { concurrency.count(.sameSequence) }
      // What was trimmed can't be compared.
      if index != 0, envelope.sequence > author.trimmed {
        try forks?.note(index, envelope.sequence, isOther: isOther)
      }
      return
    }
    guard index != 0 || isOwn else {
      throw MergeError(.foreignOwn, envelope.replica, envelope.sequence)
    }
    if forks?.leavesOut(index) ?? false {
      summary.leftOutOperations += 1
      return
    }
    guard envelope.sequence == author.stored + 1 else {
      throw MergeError(.gap, envelope.replica, envelope.sequence)
    }
    let isFragment = author.stored > author.merged
    guard isFragment ? envelope.time == author.time : envelope.time > author.time else {
      throw MergeError(.timeNotIncreasing, envelope.replica, envelope.sequence)
    }
    if author.stored == 0 {
      try transaction.authorTable.save(author, of: index, transaction.authors)
    }
    // In an order of their own: others are sent what is here by these numbers.
    for replica in envelope.seen.sequences.keys.filter({
      transaction.authors.index(of: $0) == nil
    }).sorted() {
      // Names alone, of which a peer can make up any number, and which only counting needs.
      if transaction.authors.ids.count >= SyncOperation.Limit.seen { break }
      let seen = transaction.authors.add(replica)
      try transaction.authorTable.save(
        .init(stored: 0, merged: 0, time: .zero), of: seen, transaction.authors)
    }
    try concurrency.note(envelope.seen, by: index)
    try transaction.log.append(operation, author: index)
    author.stored = envelope.sequence
    author.time = envelope.time
    summary.mergedOperations += 1
    if !envelope.continues {
      let group = LogGroup(author: index, sequences: author.merged + 1...envelope.sequence)
      try complete(group, last: operation)
      author.merged = envelope.sequence
    }
    try transaction.authorTable.save(author, of: index, transaction.authors)
  }

  /// Merges a group whose last operation is here, or puts it aside.
  private func complete(_ group: LogGroup, last: SyncOperation) throws {
    let time = last.envelope.time
    if try transaction.clock.isFuture(time, remoteMilliseconds: remoteMilliseconds) {
      summary.groupsPutAside += 1
      return try transaction.waiting.putAside(
        group, until: time, "its time is more than five minutes ahead; it waits for the clock")
    }
    if isCheckingBodies, let error = try transaction.log.bodyError(in: group) {
      summary.groupsPutAside += 1
      return try transaction.waiting.putAside(group, "\(error)")
    }
    try merge(group, last: last)
  }

  /// Merges a whole group.
  ///
  /// - Parameter last: its last operation, where that is at hand. Without it the group was put
  ///   aside, and later ones of its author may be merged.
  func merge(_ group: LogGroup, last: SyncOperation? = nil) throws {
    for sequence in group.sequences {
      let isLast = sequence == last?.envelope.sequence
      let operation = try isLast ? last! : transaction.log.part(sequence, of: group)
      try merge(operation, author: group.author, isInTurn: last != nil)
      transaction.clock.lastTime = max(transaction.clock.lastTime, operation.envelope.time)
    }
  }

  private func merge(_ operation: SyncOperation, author: UInt32, isInTurn: Bool) throws {
    let stamp = Stamp(time: operation.envelope.time, author: author)
    let id = LogID(author: author, sequence: operation.envelope.sequence)
    let turn = Turn(
      sequence: id.sequence, settled: isInTurn ? try settled(before: id) : 0)
    try operation.forEachBlock { block, reader in
      let found = try merger(for: block)
      if found == nil, author != 0, let notice = ForkNotice(block) {
        let witness = transaction.authors.ids[Int(author)]
        try transaction.toldForks.note(notice, by: witness, of: transaction.ownID)
      }
      let (target, mapping) = (found?.0, found.map { $0.1.mapping(of: block) })
      var unknown = mapping?.unknown ?? []
      let context = mapping.map {
        RowMerger.Context(stamp: stamp, turn: turn, mapping: $0, concurrency: concurrency)
      }
      var count = 0
      while try reader.nextRow(&row, of: block) {
        count += 1
        // Of a table without a row there is nothing to merge later.
        if mapping == nil, count == 1 { try transaction.waiting.putOff(.init(block), of: id) }
        try putOff(&unknown, carriedBy: row, of: block, id)
        if Planted.isActive(.rowLeftOut), count == 2 { continue }
        guard let target, let context, try holds(row, of: block, id, target) else { continue }
        try target.merge(&row, context)
      }
      if let target, let context { try target.finish(context) }
    }
  }

  /// Merges, of an operation that was merged before, the parts that were put off and are known
  /// now: each exactly once, which counters need.
  ///
  /// - Returns: the parts that wait no longer.
  func replay(_ operation: SyncOperation, author: UInt32, parts: Set<DeferredPart>) throws
    -> Set<DeferredPart>
  {
    let stamp = Stamp(time: operation.envelope.time, author: author)
    let id = LogID(author: author, sequence: operation.envelope.sequence)
    var (known, waiting): (Set<DeferredPart>, Set<DeferredPart>) = ([], [])
    try operation.forEachBlock { block, reader in
      let found = try merger(for: block)
      var mapping = found?.1.mapping(of: block)
      let isWholeBlock = parts.contains(.init(block))
      let whole = mapping
      let keyPart = DeferredPart(block, block.keyColumns[0])
      var unknown = isWholeBlock ? mapping?.unknown ?? [] : []
      if let targets = mapping?.targets {
        if isWholeBlock { known.insert(.init(block)) }
        for (index, column) in block.columns.enumerated() {
          let part = DeferredPart(block, column.name)
          switch (targets[index], isWholeBlock) {
          case (nil, _), (_, true): break
          case (_, false) where parts.contains(part): known.insert(part)
          default: mapping?.targets[index] = nil
          }
        }
        if !isWholeBlock { mapping?.isReplay = true }
      }
      let hasNews = isWholeBlock || mapping?.targets.contains { $0 != nil } ?? false
      let hasKeys = !isWholeBlock && parts.contains(keyPart)
      while try reader.nextRow(&row, of: block) {
        try putOff(&unknown, carriedBy: row, of: block, id)
        guard hasNews || hasKeys, let (merger, _) = found, let mapping, let whole else { continue }
        guard try holds(row, of: block, id, merger) else {
          waiting.insert(keyPart)
          continue
        }
        let isNew = try hasKeys && isNew(row, merger)
        guard hasNews || isNew else { continue }
        try merger.merge(
          &row,
          .init(
            stamp: stamp, turn: Turn(sequence: id.sequence, settled: 0),
            mapping: isNew ? whole : mapping, concurrency: concurrency, isInGroup: false))
      }
      if hasKeys, found != nil { known.insert(keyPart) }
    }
    return known.subtracting(waiting)
  }

  /// Whether a row was put off because of its key: nothing of it is in the state, but what this
  /// pass replayed.
  private func isNew(_ row: BodyRow, _ merger: RowMerger) throws -> Bool {
    let key = Array(row.packedKey)
    if newKeys[merger.shape.id]?.contains(key) ?? false { return true }
    guard try merger.writer.state(of: key) == nil else { return false }
    newKeys[merger.shape.id, default: []].insert(key)
    return true
  }

  /// Puts off, of a block's columns that are unknown here, those that a row carries: a heading
  /// names the columns that no row of its operation wrote, too.
  private func putOff(
    _ unknown: inout [Int], carriedBy row: BodyRow, of block: BodyBlock, _ id: LogID
  ) throws {
    if unknown.isEmpty || row.kind == .delete { return }
    for index in unknown where row.isCarried[index] {
      try transaction.waiting.putOff(.init(block, block.columns[index].name), of: id)
    }
    unknown.removeAll { row.isCarried[$0] }
  }

  /// Whether a row's key can stand in its table; puts the block's key column off where it cannot.
  private func holds(_ row: BodyRow, of block: BodyBlock, _ id: LogID, _ merger: RowMerger) throws
    -> Bool
  {
    if merger.shape.holds(row.key) { return true }
    try transaction.waiting.putOff(.init(block, block.keyColumns[0]), of: id)
    return false
  }

  func merger(for block: BodyBlock) throws -> (RowMerger, TableShape)? {
    guard let sql = transaction.sql.first(where: { $0.shape.holdsRows(of: block) }) else {
      return nil
    }
    if let merger = mergers[sql.shape.id] { return (merger, sql.shape) }
    let merger = try RowMerger(transaction, sql, hasHeld: hasHeld)
    mergers[sql.shape.id] = merger
    return (merger, sql.shape)
  }

  func writer(for sql: TableSQL) throws -> TableWriter {
    if let merger = mergers[sql.shape.id] { return merger.writer }
    let merger = try RowMerger(transaction, sql, hasHeld: true)
    mergers[sql.shape.id] = merger
    return merger.writer
  }

  /// Takes in what an author had seen of others.
  func noteSeen(_ seen: VersionVector, by author: UInt32) throws {
    try concurrency.note(seen, by: author)
  }

  /// Merges a group that waited.
  func takeUp(_ group: LogGroup) throws {
    try transaction.waiting.remove(group)
    try merge(group)
  }

  /// Merges the groups whose time the clock has come near.
  func takeUpDue() throws {
    for group in try transaction.dueGroups(remoteMilliseconds: remoteMilliseconds) {
      if let error = try transaction.log.bodyError(in: group) {
        try transaction.waiting.putAside(group, "\(error)")
      } else {
        try takeUp(group)
      }
    }
  }

  /// Up to which sequence all operations of an author are merged once this one is.
  private func settled(before id: LogID) throws -> UInt64 {
    try transaction.waiting.firstSequence(of: id.author, before: id).map { $0 - 1 } ?? id.sequence
  }

  // MARK: - The end

  /// Settles what is quarantined, drops the notes of the merge's own writes and tells observers.
  func finish() throws {
    let settlement = try Settlement(transaction, writers: mergers.mapValues(\.writer))
    let writers = try settlement.run()
    try transaction.held.forgetUnsettled()
    for _ in 0..<settlement.newOrphans { concurrency.count(.parentDeleted) }
    if transaction.large.hasRows { try LargeRow.forgetThoseThatWent(in: transaction) }
    for (index, id) in transaction.sql.map(\.shape.id).enumerated() {
      try transaction.notes.forget(transaction.sql[index])
      if let writer = writers[id], writer.hasChanged {
        summary.changedTables.insert(transaction.sql[index].shape.name)
        try transaction.notifyChanges(in: transaction.sql[index].shape)
      }
    }
    try concurrency.save()
    summary.conflicts = concurrency.counts
    try transaction.clock.save()
  }
}
