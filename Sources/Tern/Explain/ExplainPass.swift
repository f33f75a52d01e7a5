import TernCore
import TernDatabase

/// Reads the log once for everything that was written in one life of a row, and says what became of
/// it.
struct ExplainPass {
  private let row: LoggedRow
  private let standing: StandingRow
  private let limit: Int
  private let authors: Authors
  /// By the shape's columns.
  private var columns: [WrittenColumn]
  private var deletes: WrittenColumn
  private var deferred: [String: (name: String, writes: WrittenColumn)] = [:]
  private var pendingChanges = 0
  /// Operations that the state names by their sequence, and the times of those that were met.
  private var named: Set<Int64> = []
  private var times: [Int64: HybridTime] = [:]

  init(_ row: LoggedRow, _ standing: StandingRow, limit: Int) {
    self.row = row
    self.standing = standing
    self.limit = max(1, limit)
    authors = standing.authors
    columns = row.shape.columns.map {
      WrittenColumn(standing: standing.state?.stamp(of: UInt32($0.id)))
    }
    deletes = WrittenColumn(standing: standing.deletion)
    for case .operation(let id) in standing.survivors(row.shape.deletes) {
      named.insert(id.rawValue)
    }
    for column in row.shape.columns where column.rule == .set {
      for entry in standing.state?.elements(of: UInt32(column.id)).entries ?? [] {
        named.formUnion(ids(entry.additions).map(\.rawValue))
      }
    }
  }

  private func ids(_ additions: VersionVector) -> [LogID] {
    additions.sorted.compactMap { replica, sequence in
      authors.index(of: replica).map { LogID(author: $0, sequence: sequence) }
    }
  }

  // MARK: - The log

  mutating func read(_ transaction: StoreTransaction) throws {
    for author in authors.ids.indices { try read(UInt32(author), transaction) }
  }

  private mutating func read(_ author: UInt32, _ transaction: StoreTransaction) throws {
    let scan = try transaction.statement(
      """
      SELECT id, bytes, instr(bytes, ?) > 0 FROM \(transaction.tables.log)
      WHERE id > ? AND id <= ? ORDER BY id
      """)
    var seen = VersionVector()
    let key = row.packedKey
    try key.withUnsafeBytes { key in
      scan.bind(1, blob: key)
      scan.bind(2, LogID(author: author, sequence: 0).rawValue)
      scan.bind(3, LogID(author: author, sequence: standing.rows[Int(author)].stored).rawValue)
      defer { scan.reset() }
      while try scan.step() {
        let bytes = scan.blob(1)
        let (envelope, bodyOffset) = try SyncOperation.parse(bytes)
        for (replica, sequence) in envelope.seen.sequences {
          seen[replica] = max(seen[replica], sequence)
        }
        guard scan.int64(2) != 0 else { continue }
        let id = LogID(rawValue: scan.int64(0))
        let body = UnsafeRawBufferPointer(rebasing: bytes[bodyOffset...])
        try take(id, envelope, seen, body)
      }
    }
  }

  private mutating func take(
    _ id: LogID, _ envelope: SyncOperation.Envelope, _ seen: VersionVector,
    _ body: UnsafeRawBufferPointer
  ) throws {
    guard standing.isMerged(id) else {
      let operation = SyncOperation(envelope, body: Array(body))
      // It is named with the reason by the replica's counts.
      if operation.bodyError() != nil { return }
      pendingChanges += try row.changes(in: body).count
      return
    }
    if named.contains(id.rawValue) { times[id.rawValue] = envelope.time }
    for change in try row.changes(in: body) {
      if change.isDeferred {
        pendingChanges += 1
        continue
      }
      let life = change.kind == .delete ? change.life - 1 : change.life
      guard life == standing.writtenLife ?? life else { continue }
      func write(_ content: WriteContent) -> LoggedWrite {
        LoggedWrite(
          stamp: Stamp(time: envelope.time, author: id.author), sequence: id.sequence, seen: seen,
          content: content)
      }
      if change.kind == .delete {
        deletes.add(write(.value(.null)), limit: limit, authors)
      }
      for column in change.columns {
        if let target = column.target {
          columns[target].add(write(column.content), limit: limit, authors)
        } else {
          let name = column.name.folded
          deferred[name, default: (column.name, WrittenColumn(standing: nil))].writes
            .add(write(column.content), limit: limit, authors)
        }
      }
    }
  }
}

// MARK: - The explanation

extension ExplainPass {
  /// - Throws: ``WireError`` where the database is damaged.
  func explanation() throws -> RowExplanation {
    let shape = row.shape
    return RowExplanation(
      table: shape.name, key: row.key, generation: standing.state?.life ?? 0,
      standing: standing.standing, deleteRule: shape.deletes,
      columns: standing.state == nil ? [] : try shape.columns.indices.map(column),
      deletes: deletes.all.map { delete in
        RowExplanation.Delete(
          stamp: authors.stamp(delete.stamp), sequence: delete.sequence,
          outcome: outcome(ofDelete: delete.stamp))
      },
      survivedBy: standing.survivors(shape.deletes).compactMap(stamp),
      deferred: deferred.sorted { $0.key < $1.key }.map { _, column in
        RowExplanation.DeferredColumn(
          name: column.name,
          writes: column.writes.newest.map {
            .init(stamp: authors.stamp($0.stamp), sequence: $0.sequence, content: $0.content)
          }, writeCount: column.writes.count)
      },
      pendingChanges: pendingChanges, isTooLarge: standing.isTooLarge)
  }

  private func stamp(_ survivor: StandingRow.Survivor) -> WriteStamp? {
    switch survivor {
    case .stamp(let stamp): authors.stamp(stamp)
    case .operation(let id): stamp(id)
    }
  }

  private func stamp(_ id: LogID) -> WriteStamp? {
    times[id.rawValue].map { authors.stamp(Stamp(time: $0, author: id.author)) }
  }

  private func outcome(ofDelete stamp: Stamp) -> RowExplanation.Outcome {
    guard let deletion = standing.deletion else { return .beaten(.changed) }
    return stamp == deletion ? .stands : .counts
  }

  private func column(_ index: Int) throws -> RowExplanation.Column {
    let (column, written) = (row.shape.columns[index], columns[index])
    let text = try standing.state?.text(of: UInt32(column.id))?.sequence()
    let judge = WriteJudge(
      rule: column.rule, isRowDeleted: standing.deletion != nil, standing: written.standing,
      value: standing.state?.computed(UInt32(column.id)),
      elements: standing.state?.elements(of: UInt32(column.id)) ?? ElementSet(),
      text: text, authors: authors)
    let against = standing.deletion == nil ? written.winner : deletes.winner
    return RowExplanation.Column(
      name: column.name, rule: column.rule, value: standing.value(of: column),
      stamp: written.standing.map(authors.stamp),
      elements: judge.elements.entries.map { entry in
        .init(value: entry.element, addedBy: ids(entry.additions).compactMap(stamp))
      },
      writes: written.all.map { write in
        .init(
          stamp: authors.stamp(write.stamp), sequence: write.sequence, content: write.content,
          outcome: judge.outcome(of: write),
          isConcurrent: against.map { write.isConcurrent(with: $0, authors) } ?? false)
      }, writeCount: written.count)
  }
}
