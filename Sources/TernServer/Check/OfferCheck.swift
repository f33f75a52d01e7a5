#if Server
import GRDB
@_spi(Rehearsal) import TernCore

/// Holds an offered snapshot against what the space is known to have: the snapshot before, which
/// was held against the one before that, and the log since.
///
/// What was written is to be in it, and nothing that nobody wrote. The bytes of snapshots and of
/// operations that stand before the space's head don't change, so nothing is locked meanwhile.
struct OfferCheck {
  let space: SpaceName
  let offered: StoredSnapshot
  /// Of every replica, the last operation that the offer says is in it.
  let offeredHeads: [ReplicaID: SnapshotHead]
  /// The newest whole one, which stands for everything up to its position.
  let previous: StoredSnapshot?
  /// Those of the space.
  let heads: [ReplicaID: AuthorHead]
  /// The space's newest position.
  let end: UInt64

  /// What came of it.
  struct Outcome {
    /// Why the snapshot can't be taken; `nil` where it can.
    var refusal: String?
    /// The operations that it carries along, by which the space can tell that they are its own.
    var carried: [OperationKey: OperationDigest] = [:]
  }

  /// - Throws: what the store throws; ``RemoteError`` with `unavailable` where the snapshot before
  ///   gave way meanwhile.
  func run(in store: any SpaceStore) throws -> Outcome {
    try DatabaseQueue().write { db in
      let run = OfferCheckRun(self, store, try TracedRows(db))
      do {
        return Outcome(refusal: try run.refusal(), carried: run.carried)
      } catch let error as WireError {
        return Outcome(refusal: "it can't be read: \(error)")
      } catch is SnapshotParts.Disorder {
        return Outcome(refusal: "it is not whole: parts are missing, too many or out of order")
      }
    }
  }
}

/// One run of an ``OfferCheck``.
final class OfferCheckRun {
  private let check: OfferCheck
  private let store: any SpaceStore
  private let rows: TracedRows
  private(set) var carried: [OperationKey: OperationDigest] = [:]

  private var authors = Authors([])
  private var heading = SnapshotHeading(schemaVersion: 0, authors: [])
  /// By author, the last operation that is merged in the offered snapshot.
  private var merged: [UInt32: SnapshotHeading.Author] = [:]
  private var tables: [String: TracedTable] = [:]
  private var tablesByID: [TracedTable] = []
  /// By a name that it had, a table of the offered snapshot.
  private var formerTables: [String: TracedTable] = [:]
  /// The schema version of the snapshot before, once its rows are traced.
  private var previousVersion: UInt32 = 0
  /// By stamp, what of an operation waits in the offered snapshot.
  private var waiting: [Stamp: [(table: String, column: String)]] = [:]
  /// Of groups that wait whole in it, for a clock or for a newer Tern: whoever loads it merges them
  /// as soon as it can.
  private var aside: Set<Stamp> = []
  /// Of operations that can't be read here: a newer Tern may have merged them, or put them aside.
  private var opaque: Set<Stamp> = []
  /// Of a base: from when on it may have what the space was not given, by author.
  private var ahead: [UInt32: HybridTime] = [:]
  /// Whether the offered snapshot has seen just what was traced.
  private var isEven = true
  private var differences = Differences()

  init(_ check: OfferCheck, _ store: any SpaceStore, _ rows: TracedRows) {
    (self.check, self.store, self.rows) = (check, store, rows)
  }

  func refusal() throws -> String? {
    try readOffer()
    if let refusal = headsRefusal() { return refusal }
    if let schema = check.offered.schema, schema.version != heading.schemaVersion {
      return
        "it is of schema version \(heading.schemaVersion) and was offered as of \(schema.version)"
    }
    do {
      try tracePrevious()
    } catch let error where error is WireError || error is SnapshotParts.Disorder {
      return "the snapshot before it can't be read, and so it can't be compared: \(error)"
    }
    try traceLog()
    try compare()
    if !Planted.isActive(.missingRowsTaken) {
      try rows.forEachMissing { table, row in
        hold(row, against: nil, of: tablesByID[Int(table)])
      }
    }
    return differences.refusal(authors)
  }

  // MARK: - The offer

  private func offeredParts() -> SnapshotParts {
    SnapshotParts { [check, store] index in
      guard index < check.offered.parts else { return nil }
      return try store.snapshotPart(
        index, of: check.offered.id, in: check.space, isWhole: check.offered.isComplete)
    }
  }

  /// Calls `body` for every part with what is behind its kind, and sees to that the end is one.
  private func forEachPart(
    of parts: SnapshotParts, _ body: (SnapshotPart.Kind, inout ByteReader) throws -> Void
  ) throws {
    var parts = parts
    while let (kind, content) = try parts.next() {
      try content.withUnsafeBytes { buffer in
        var reader = ByteReader(UnsafeRawBufferPointer(rebasing: buffer.dropFirst()))
        try body(kind, &reader)
      }
    }
    guard parts.isAtEnd else { throw SnapshotParts.Disorder() }
  }

  /// Everything but its rows: what they are compared with depends on it.
  private func readOffer() throws {
    var count: UInt64?
    try forEachPart(of: offeredParts()) { kind, reader in
      switch kind {
      case .heading:
        heading = try SnapshotHeading(&reader)
        for author in heading.authors { merged[authors.add(author.id)] = author }
      case .seen:
        while !reader.isAtEnd { _ = try reader.snapshotSeen(heading.authors.count) }
      case .rows: try offer(Self.block(&reader))
      case .operations:
        while !reader.isAtEnd { note(try SnapshotOperation(&reader, heading.authors)) }
      case .end: count = try reader.varint("row count")
      }
    }
    rowCount = count ?? 0
    for naming in check.offered.schema?.renamed ?? [] {
      guard let table = tables[naming.name.folded] else { continue }
      table.rename(naming)
      for name in naming.formerNames { formerTables[name.folded] = table }
    }
  }

  private func offer(_ block: BodyBlock) throws {
    guard let table = table(for: block, heading.schemaVersion) else {
      throw WireError(.malformed, "blocks of one table")
    }
    table.offer(block)
  }

  private var rowCount: UInt64 = 0

  private static func block(_ reader: inout ByteReader) throws -> BodyBlock {
    var body = BodyReader(reader)
    guard let block = try body.nextBlock() else { throw WireError(.malformed, "rows") }
    reader = body.rest
    return block
  }

  private func note(_ entry: SnapshotOperation) {
    let (operation, envelope) = (entry.operation, entry.operation.envelope)
    carried[NewOperation(operation).key] = NewOperation(operation).digest
    isEven = false
    let author = heading.authors[entry.author]
    guard envelope.sequence <= author.sequence else { return }
    let stamp = Stamp(time: envelope.time, author: authors.add(author.id))
    waiting[stamp, default: []] += entry.parts
    if entry.aside != nil { aside.insert(stamp) }
  }

  private func headsRefusal() -> String? {
    for (id, offered) in check.offeredHeads {
      let held = merged[authors.add(id)]
      if let held, held.sequence == offered.sequence, held.time == offered.time { continue }
      // Of a group that is not whole, the beginning is carried along.
      let isCarried = carried[OperationKey(author: id, sequence: offered.sequence)] != nil
      guard offered.sequence > held?.sequence ?? 0, isCarried else {
        return "it says that it is up to other operations than it was offered with"
      }
    }
    for author in merged.values where author.sequence > 0 {
      guard check.offeredHeads[author.id] != nil else {
        return "it says that it is up to other operations than it was offered with"
      }
      let stored = check.heads[author.id]
      if check.offered.isBase, author.sequence > stored?.sequence ?? 0 {
        ahead[authors.add(author.id)] = stored?.time ?? .zero
      }
    }
    return nil
  }

  // MARK: - What the space has

  /// The table that a block of a schema version is about; `nil` where no merge takes its rows, or
  /// they are of no account.
  private func table(for block: BodyBlock, _ version: UInt32) -> TracedTable? {
    let name = block.table.folded
    // Who wrote under an older version may have meant the table by a name that it had.
    let former = version < heading.schemaVersion ? formerTables[name] : nil
    if let table = tables[name] ?? former { return table.takes(block) ? table : nil }
    if isGone(version) { return nil }
    let table = TracedTable(id: Int64(tablesByID.count), block)
    tables[name] = table
    tablesByID.append(table)
    return table
  }

  /// Whether tables and columns of a schema version that neither snapshot has are of no account: a
  /// snapshot of a newer version was taken without them.
  private func isGone(_ version: UInt32) -> Bool { version < previousVersion }

  private func columns(of block: BodyBlock, in table: TracedTable, _ version: UInt32) -> [UInt32?] {
    table.columns(
      of: block, isFormer: version < heading.schemaVersion, addsNone: isGone(version))
  }

  private func tracePrevious() throws {
    guard let previous = check.previous else { return }
    let parts = SnapshotParts { [check, store] index in
      guard index < previous.parts else { return nil }
      guard
        let bytes = try store.snapshotPart(index, of: previous.id, in: check.space, isWhole: true)
      else { throw Self.gone }
      return bytes
    }
    var known = SnapshotHeading(schemaVersion: 0, authors: [])
    var numbers: [UInt32] = []
    try forEachPart(of: parts) { kind, reader in
      switch kind {
      case .heading:
        known = try SnapshotHeading(&reader)
        numbers = known.authors.map { authors.add($0.id) }
        for (number, author) in zip(numbers, known.authors)
        where author.sequence > merged[number]?.sequence ?? 0 { isEven = false }
      case .seen, .end: break
      case .rows: try traceRows(&reader, known, numbers)
      case .operations:
        while !reader.isAtEnd {
          try trace(SnapshotOperation(&reader, known.authors).operation)
        }
      }
    }
    previousVersion = known.schemaVersion
  }

  private func traceRows(
    _ reader: inout ByteReader, _ known: SnapshotHeading, _ numbers: [UInt32]
  ) throws {
    let block = try Self.block(&reader)
    guard let table = table(for: block, known.schemaVersion) else { return }
    let columns = self.columns(of: block, in: table, known.schemaVersion)
    var row = SnapshotRow()
    while !reader.isAtEnd {
      try reader.snapshotRow(&row, of: block, authors: numbers.count)
      let traced = try TracedRow(
        row, of: table, columns: columns,
        hasValues: known.schemaVersion == heading.schemaVersion
      ) { place throws(WireError) in numbers[Int(place)] }
      try rows.put(traced, row.packedKey, of: table)
    }
  }

  private func traceLog() throws {
    var position = check.previous?.position ?? 0
    while position < check.end {
      let page = try store.page(
        of: check.space, after: position, excluding: nil, contentBytes: 1 << 20,
        operations: Batch.Limit.operations)
      guard page.trimmed <= position, page.end > position else { throw Self.gone }
      for bytes in page.operations { try trace(SyncOperation(bytes: bytes)) }
      position = page.end
    }
  }

  private static var gone: RemoteError {
    RemoteError(
      .unavailable, "a newer snapshot came meanwhile; greet again", retryAfter: .seconds(5))
  }

  private func trace(_ operation: SyncOperation) throws {
    let envelope = operation.envelope
    let author = authors.add(envelope.replica)
    guard envelope.sequence <= merged[author]?.sequence ?? 0 else {
      isEven = false
      return
    }
    let stamp = Stamp(time: envelope.time, author: author)
    guard operation.bodyError() == nil else {
      return noteOpaque(stamp)
    }
    var row = BodyRow()
    let hasValues = envelope.schemaVersion == heading.schemaVersion
    try operation.forEachBlock { block, reader in
      let table = table(for: block, envelope.schemaVersion)
      let columns = table.map { self.columns(of: block, in: $0, envelope.schemaVersion) } ?? []
      while try reader.nextRow(&row, of: block) {
        guard let table else { continue }
        var traced = TracedRow()
        if case .row(let known) = try rows.row(row.packedKey, of: table) { traced = known }
        do throws(WireError) {
          try traced.merge(
            row, of: table, columns: columns, stamp: stamp, sequence: envelope.sequence,
            hasValues: hasValues, authors)
        } catch {
          // No replica of this schema can merge it.
          noteOpaque(stamp)
          continue
        }
        try rows.put(traced, row.packedKey, of: table)
      }
    }
  }

  private func noteOpaque(_ stamp: Stamp) {
    opaque.insert(stamp)
    isEven = false
  }

  // MARK: - Comparing

  private func compare() throws {
    var count: UInt64 = 0
    try forEachPart(of: offeredParts()) { kind, reader in
      guard kind == .rows else { return }
      let block = try Self.block(&reader)
      guard let table = table(for: block, heading.schemaVersion) else {
        throw WireError(.malformed, "blocks of one table")
      }
      let columns = table.columns(of: block, isFormer: false)
      var row = SnapshotRow()
      while !reader.isAtEnd {
        try reader.snapshotRow(&row, of: block, authors: heading.authors.count)
        count += 1
        try compare(row, of: table, columns)
      }
    }
    guard count == rowCount else { throw WireError(.malformed, "row count") }
  }

  private func compare(
    _ row: SnapshotRow, of table: TracedTable, _ columns: [UInt32?]
  ) throws {
    let theirs = try TracedRow(
      row, of: table, columns: columns, hasValues: true
    ) { [authors, heading] place throws(WireError) in
      guard let author = authors.index(of: heading.authors[Int(place)].id) else {
        throw WireError(.malformed, "author")
      }
      return author
    }
    switch try rows.row(row.packedKey, of: table) {
    case .met: throw WireError(.malformed, "row twice")
    case .nothing: holdInvented(theirs, against: nil, of: table)
    case .row(let ours):
      let hasAll = hold(ours, against: theirs, of: table)
      let hasOnly = holdInvented(theirs, against: ours, of: table)
      if hasAll, hasOnly { holdContent(theirs, against: ours, of: table) }
    }
    try rows.meet(row.packedKey, of: table)
  }

  /// Notes what the offered row lacks. Returns whether it lacks nothing at all.
  @discardableResult
  private func hold(_ ours: TracedRow, against theirs: TracedRow?, of table: TracedTable) -> Bool {
    let lacking = ours.state.writes(
      lackingIn: theirs?.state, columns: table.columns, authors: authors)
    for write in lacking where !isExcused(write, table) {
      differences.lacking.note(write, table)
    }
    return lacking.isEmpty
  }

  private func isExcused(_ write: RowState.Write, _ table: TracedTable) -> Bool {
    // Later than what the snapshot says it holds.
    if write.stamp.time > merged[write.stamp.author]?.time ?? .zero { return true }
    if aside.contains(write.stamp) { return true }
    return waiting[write.stamp]?.contains { part in
      guard part.table.folded == table.name.folded, !table.isOffered(part.column) else {
        return false
      }
      let column = write.column.map { table.names[Int($0)].folded } ?? ""
      return part.column.isEmpty || part.column.folded == column
    } ?? false
  }

  /// Notes what the offered row has and nobody wrote.
  @discardableResult
  private func holdInvented(
    _ theirs: TracedRow, against ours: TracedRow?, of table: TracedTable
  ) -> Bool {
    var invented = theirs.state.writes(
      lackingIn: ours?.state, columns: table.columns, authors: authors)
    if theirs.state.life > ours?.state.life ?? 0, invented.isEmpty {
      invented = [RowState.Write(column: nil, stamp: .zero)]
    }
    for write in invented where !mayBeNew(write.stamp) { differences.invented.note(write, table) }
    return invented.isEmpty
  }

  private func mayBeNew(_ stamp: Stamp) -> Bool {
    if opaque.contains(stamp) { return true }
    return ahead[stamp.author].map { $0 < stamp.time } ?? false
  }

  /// Who wrote what is the same on both sides.
  private func holdContent(
    _ theirs: TracedRow, against ours: TracedRow, of table: TracedTable
  ) {
    guard theirs.state.life == ours.state.life else { return }
    for (column, hash) in ours.values
    where theirs.state.stamp(of: column) == ours.state.stamp(of: column) {
      guard let other = theirs.hash(of: column), other != hash else { continue }
      let stamp = ours.state.stamp(of: column) ?? .zero
      differences.changed.note(RowState.Write(column: column, stamp: stamp), table)
    }
    guard isEven, ahead.isEmpty else { return }
    if ours.state.isDeleted != theirs.state.isDeleted {
      differences.changed.note(RowState.Write(column: nil, stamp: ours.state.stamp), table)
    }
  }
}

/// What an offered snapshot and the space don't have in common.
private struct Differences {
  struct Writes {
    private(set) var count = 0
    private(set) var example: (write: RowState.Write, table: TracedTable)?

    mutating func note(_ write: RowState.Write, _ table: TracedTable) {
      count += 1
      if example == nil { example = (write, table) }
    }

    /// One of them, by names alone.
    func place(_ authors: Authors) -> String {
      guard let (write, table) = example else { return "" }
      let column = write.column.map { "column \(table.names[Int($0)])" } ?? "a row"
      let author =
        write.stamp == .zero ? "nobody" : "replica \(authors.ids[Int(write.stamp.author)])"
      return ", \(column) of table \(table.name), by \(author), for one"
    }
  }

  var lacking = Writes()
  var invented = Writes()
  var changed = Writes()

  func refusal(_ authors: Authors) -> String? {
    if lacking.count > 0 {
      return "it lacks \(lacking.count) writes that it says it holds" + lacking.place(authors)
    }
    if invented.count > 0 {
      return "it has \(invented.count) writes that nobody pushed" + invented.place(authors)
    }
    if changed.count > 0 {
      return "it shows \(changed.count) values other than were written" + changed.place(authors)
    }
    return nil
  }
}
#endif
