import TernCore
import TernDatabase

extension TableShape {
  /// The names that the table and its columns had; `nil` where they always had these.
  fileprivate var formerNaming: SnapshotSchema.Table? {
    let renamed =
      (Array(zip(keyColumns, formerKeyNames)) + columns.map { ($0.name, $0.formerNames) })
      .filter { !$1.isEmpty }
    if formerNames.isEmpty, renamed.isEmpty { return nil }
    return SnapshotSchema.Table(
      name: name, formerNames: formerNames,
      formerColumns: Dictionary(uniqueKeysWithValues: renamed))
  }
}

/// Cuts a snapshot from one read of the database, row by row: in memory are one part and one row.
struct SnapshotCut {
  private let transaction: StoreTransaction
  private let write: ([UInt8]) throws -> Void
  private let heading: SnapshotHeading
  /// By the author's index here, its place in the heading.
  private let places: [UInt32?]
  private var content = ByteWriter()
  private var cells = ByteWriter()
  private var summary: SnapshotSummary

  /// Whether something is noted that no operation holds, so that tables and state differ.
  static func hasNotes(_ transaction: StoreTransaction) throws -> Bool {
    for sql in transaction.sql {
      let statement = try transaction.statement(sql.firstNoteTime)
      defer { statement.reset() }
      if try statement.step() { return true }
    }
    return false
  }

  init(_ transaction: StoreTransaction, _ write: @escaping ([UInt8]) throws -> Void) throws {
    self.transaction = transaction
    self.write = write
    if transaction.large.hasRows {
      let tables = try transaction.large.counts(of: transaction.sql).keys.sorted().joined(
        separator: ", ")
      throw SnapshotError(
        .largeRows,
        "rows of \(tables) are too long to travel; a snapshot would lack them: make them shorter "
          + "than \(SyncOperation.Limit.rowBytes) bytes, or let another device cut it")
    }
    var authors: [SnapshotHeading.Author] = []
    var beginnings: [ReplicaID: SnapshotHead] = [:]
    for (index, id) in transaction.authors.ids.enumerated() {
      let row = try transaction.authorTable.row(UInt32(index))
      guard row.stored > 0 else { continue }
      if row.stored > row.merged {
        beginnings[id] = SnapshotHead(sequence: row.stored, time: row.time)
      }
      let time = row.merged == 0 ? .zero : try transaction.log.time(ofMerged: UInt32(index), row)
      authors.append(.init(id: id, sequence: row.merged, time: time))
    }
    let heading = SnapshotHeading(schemaVersion: transaction.schemaVersion, authors: authors)
    let numbers = Dictionary(
      uniqueKeysWithValues: heading.authors.enumerated().map { ($1.id, UInt32($0)) })
    places = transaction.authors.ids.map { numbers[$0] }
    self.heading = heading
    summary = SnapshotSummary(heading, beginnings: beginnings)
    summary.schema = SnapshotSchema(
      version: heading.schemaVersion, renamed: transaction.sql.compactMap(\.shape.formerNaming))
  }

  mutating func run() throws -> SnapshotSummary {
    begin(.heading)
    heading.append(to: &content)
    try flush()
    try appendSeen()
    for sql in transaction.sql.sorted(by: { $0.shape.name < $1.shape.name }) {
      try appendRows(of: sql)
    }
    try appendOperations()
    begin(.end)
    content.append(varint: UInt64(summary.rows))
    try flush()
    return summary
  }

  private mutating func begin(_ kind: SnapshotPart.Kind) {
    content.removeAll()
    content.append(byte: kind.rawValue)
  }

  private mutating func flush() throws {
    try write(SnapshotPart.encoded(content.bytes))
    summary.parts += 1
  }

  private func place(of author: UInt32) throws(WireError) -> UInt32 {
    guard Int(author) < places.count, let place = places[Int(author)] else {
      throw WireError(.malformed, "an author of the state")
    }
    return place
  }

  // MARK: - Authors

  private mutating func appendSeen() throws {
    let select = try transaction.statement(
      """
      SELECT author, other, sequence FROM \(transaction.tables.seen)
      UNION ALL SELECT 0, idx, announced FROM \(transaction.tables.author)
      WHERE idx > 0 AND announced > 0
      """)
    defer { select.reset() }
    begin(.seen)
    while try select.step() {
      guard let author = places[Int(select.int64(0))], let other = places[Int(select.int64(1))]
      else { continue }
      content.append(varint: UInt64(author))
      content.append(varint: UInt64(other))
      content.append(varint: select.raw(2))
      if content.count > SnapshotPart.Limit.targetBytes {
        try flush()
        begin(.seen)
      }
    }
    try flush()
  }

  // MARK: - Rows

  private mutating func appendRows(of sql: TableSQL) throws {
    let shape = sql.shape
    let kinds = shape.columns.map(\.rule.kind)
    let sources: [UInt32?] = shape.columns.map { UInt32($0.id) }
    let keyCount = Int32(shape.keyColumns.count)
    let writer = try TableWriter(transaction, sql, hasHeld: true)
    let refused = try transaction.held.refusedRemovals(of: shape.id)
    let select = try transaction.statement(sql.readAllRows)
    defer { select.reset() }
    var key = ByteWriter()
    beginRows(shape)
    while try select.step() {
      guard let stored = try select.state(from: keyCount) else { continue }
      let state = try stored.renumbered(authors: place, columns: sources, kinds: kinds)
      key.removeAll()
      for index in 0..<keyCount { key.append(key: select.value(index)) }
      let isShown = !select.isNull(keyCount + 5) && !refused.contains(key.bytes)
      let aside = isShown || !state.isAlive ? nil : try writer.aside(key.bytes)
      let lifted =
        try isShown && !Planted.isActive(.veilInSnapshot) && writer.veil(of: key.bytes) != nil
        ? writer.read(key.bytes) : nil
      // What was in it, nobody can read here any more.
      if state.isShown, !isShown, aside == nil {
        throw SnapshotError(
          .missingRows,
          "rows of \(shape.name) are not in it, from which a migration or a tool took them, and a snapshot "
            + "would lack their values: insert them again, delete them then if they are to go, or let "
            + "another device cut it")
      }
      key.bytes.withUnsafeBytes { key in
        content.append(snapshotRow: key, state: state, kinds: kinds, cells: &cells) {
          if let lifted {
            $0.append(lifted[shape.columns[$1].name] ?? .null)
          } else if isShown {
            $0.append(select.value(keyCount + 6 + Int32($1)))
          } else {
            $0.append(aside?[shape.columns[$1].name] ?? .null)
          }
        }
      }
      summary.rows += 1
      guard content.count <= SnapshotPart.Limit.contentBytes else {
        throw SnapshotError(
          .largeRows,
          "a row of \(shape.name) is too long for a snapshot, though each change of it was not: make it "
            + "shorter than \(SyncOperation.Limit.rowBytes) bytes")
      }
      if content.count > SnapshotPart.Limit.targetBytes {
        try flush()
        beginRows(shape)
      }
    }
    try flush()
  }

  private mutating func beginRows(_ shape: TableShape) {
    begin(.rows)
    content.append(block: shape.block)
  }

  // MARK: - Operations of which something waits, and of groups that are not whole

  private mutating func appendOperations() throws {
    begin(.operations)
    let carried = CarriedOperations(transaction: transaction)
    let parts = try carried.partsOfGroups().map { CarriedOperation(id: $0) }
    for waiting in try carried.waiting() + parts {
      let author = try place(of: waiting.id.author)
      guard let operation = try transaction.log.operation(waiting.id) else {
        throw ReplicaError(.damaged, "the log lacks an operation of which a part waits")
      }
      waiting.append(to: &content, author: author, operation)
      if content.count > SnapshotPart.Limit.targetBytes {
        try flush()
        begin(.operations)
      }
    }
    try flush()
  }
}
