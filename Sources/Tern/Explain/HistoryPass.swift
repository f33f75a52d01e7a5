import TernCore
import TernDatabase

/// Reads the changes of one row in the order of time, and holds one operation at a time.
///
/// An author's times increase with its sequence, so that its log is in order already; what is left
/// is to merge the authors' logs.
struct HistoryPass {
  private let transaction: StoreTransaction
  private let row: LoggedRow
  private let told: [ReplicaID: RemoteAuthor]

  /// An author's next operation that may name the row.
  private struct Head {
    let id: LogID
    let time: HybridTime
  }

  init(_ transaction: StoreTransaction, _ row: LoggedRow) throws {
    self.transaction = transaction
    self.row = row
    told = try transaction.remotes.authors()
  }

  func page(after position: RowHistory.Position?, limit: Int) throws -> RowHistory {
    let ids = transaction.authors.ids
    var passed = position?.passed ?? VersionVector()
    var heads: [Head] = []
    for (index, id) in ids.enumerated() {
      if let head = try head(of: UInt32(index), after: passed[id]) { heads.append(head) }
    }
    var changes: [RowHistory.Change] = []
    while let next = heads.indices.min(by: { isBefore(heads[$0], heads[$1]) }) {
      let id = heads[next].id
      let found = try self.changes(in: id)
      if !found.isEmpty, changes.count >= max(1, limit) { break }
      changes.append(contentsOf: found)
      passed[ids[Int(id.author)]] = id.sequence
      if let following = try head(of: id.author, after: id.sequence) {
        heads[next] = following
      } else {
        heads.remove(at: next)
      }
    }
    // Nothing before a head names the row.
    for head in heads { passed[ids[Int(head.id.author)]] = head.id.sequence - 1 }
    return RowHistory(
      changes: changes, next: heads.isEmpty ? nil : RowHistory.Position(passed: passed))
  }

  private func isBefore(_ left: Head, _ right: Head) -> Bool {
    transaction.authors.isLess(
      Stamp(time: left.time, author: left.id.author),
      Stamp(time: right.time, author: right.id.author))
  }

  private func head(of author: UInt32, after sequence: UInt64) throws -> Head? {
    let select = try transaction.statement(
      """
      SELECT id, bytes FROM \(transaction.tables.log)
      WHERE id > ? AND id <= ? AND instr(bytes, ?) > 0 ORDER BY id LIMIT 1
      """)
    let stored = try transaction.authorTable.row(author).stored
    return try row.packedKey.withUnsafeBytes { key in
      select.bind(1, LogID(author: author, sequence: sequence).rawValue)
      select.bind(2, LogID(author: author, sequence: stored).rawValue)
      select.bind(3, blob: key)
      defer { select.reset() }
      guard try select.step() else { return nil }
      return Head(
        id: LogID(rawValue: select.int64(0)), time: try SyncOperation.parse(select.blob(1)).0.time)
    }
  }

  private func changes(in id: LogID) throws -> [RowHistory.Change] {
    guard let operation = try transaction.log.operation(id) else { return [] }
    let isWaiting = try transaction.isWaiting(id)
    // It is named with the reason by the replica's counts.
    if isWaiting, operation.bodyError() != nil { return [] }
    let stamp = transaction.authors.stamp(
      Stamp(time: operation.envelope.time, author: id.author))
    let author = told[stamp.author]
    let isBrought = author?.brought?.contains(id.sequence) ?? false
    return try operation.bytes.withUnsafeBytes { bytes in
      try row.changes(in: UnsafeRawBufferPointer(rebasing: bytes[operation.bodyOffset...]))
    }.map { change in
      RowHistory.Change(
        stamp: stamp, member: author?.member, isBrought: isBrought,
        broughtBy: isBrought ? author?.broughtBy : nil, sequence: id.sequence,
        kind: .init(change.kind), generation: change.life,
        columns: change.columns.map(RowHistory.Column.init),
        isMerged: !isWaiting && !change.isDeferred)
    }
  }
}

extension RowHistory.Change.Kind {
  fileprivate init(_ kind: RowChange.Kind) {
    switch kind {
    case .delete: self = .delete
    case .insert: self = .insert
    case .update: self = .update
    }
  }
}

extension RowHistory.Column {
  fileprivate init(_ column: LoggedRow.Column) {
    self.init(
      name: column.name, rule: MergeRule.Kind(rawValue: column.rule).map { MergeRule($0) },
      content: column.content, isDeferred: column.target == nil)
  }
}
