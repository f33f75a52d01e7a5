#if Server
@_spi(Rehearsal) import TernCore

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
  private var tables: [TracedTable.Name: TracedTable] = [:]
  private var tablesByID: [TracedTable] = []
  /// By a name that it had, a table of the offered snapshot.
  private var formerTables: [String: TracedTable] = [:]
  /// The schema version of the snapshot before, once its rows are traced.
  private var previousVersion: UInt32 = 0
  /// Of those that the offered snapshot carries along because their groups are not whole in it.
  private var beginnings: [ReplicaID: [UInt64: SyncOperation.Envelope]] = [:]
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
  private var differences = OfferDifferences()

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
        while !reader.isAtEnd { try note(SnapshotOperation(&reader, heading.authors)) }
      case .end: count = try reader.varint("row count")
      }
    }
    rowCount = count ?? 0
    for naming in check.offered.schema?.renamed ?? [] {
      let named = tablesByID.filter { $0.name.folded == naming.name.folded }
      guard named.count == 1, let table = named.first else { continue }
      table.rename(naming)
      for name in naming.formerNames { formerTables[name.folded] = table }
    }
  }

  private func offer(_ block: BodyBlock) throws {
    guard let table = table(for: block, heading.schemaVersion) else {
      throw WireError(.malformed, "blocks of one table")
    }
    table.offer(block)
    guard tablesByID.reduce(0, { $0 + 1 + $1.names.count }) <= BodyLimit.names else {
      throw WireError(.tooLarge, "names of tables and columns")
    }
  }

  private var rowCount: UInt64 = 0

  private static func block(_ reader: inout ByteReader) throws -> BodyBlock {
    var body = BodyReader(reader)
    guard let block = try body.nextBlock() else { throw WireError(.malformed, "rows") }
    reader = body.rest
    return block
  }

  private func note(_ entry: SnapshotOperation) throws {
    let (new, envelope) = (NewOperation(entry.operation), entry.operation.envelope)
    guard carried[new.key] == nil else { throw WireError(.malformed, "an operation twice") }
    carried[new.key] = new.digest
    isEven = false
    let author = heading.authors[entry.author]
    guard envelope.sequence <= author.sequence else {
      guard envelope.continues, entry.parts.isEmpty, entry.aside == nil else {
        throw WireError(.malformed, "an operation behind the heads")
      }
      beginnings[author.id, default: [:]][envelope.sequence] = envelope
      return
    }
    let stamp = Stamp(time: envelope.time, author: authors.add(author.id))
    waiting[stamp, default: []] += entry.parts
    if entry.aside != nil { aside.insert(stamp) }
  }

  private func headsRefusal() -> String? {
    for (id, offered) in check.offeredHeads {
      let held = merged[authors.add(id)]
      if let held, held.sequence == offered.sequence, held.time == offered.time { continue }
      // Of a group that is not whole, the beginning is carried along.
      let next = (held?.sequence ?? 0) + 1
      let begun = beginnings[id] ?? [:]
      guard next <= offered.sequence, offered.sequence - next < begun.count,
        (next...offered.sequence).allSatisfy({ begun[$0]?.time == offered.time })
      else { return Self.otherHeads }
    }
    for author in merged.values where author.sequence > 0 {
      guard check.offeredHeads[author.id] != nil else { return Self.otherHeads }
      guard check.offered.isBase else { continue }
      let stored = check.heads[author.id]
      guard author.sequence > stored?.sequence ?? 0 else { continue }
      // What is left of a group that was begun has its time.
      let begins = stored.map { $0.time.rawValue + ($0.continues ? 0 : 1) } ?? 0
      ahead[authors.add(author.id)] = HybridTime(rawValue: begins)
    }
    return nil
  }

  private static let otherHeads =
    "its content does not match the heads or the times that it was offered with"

  /// An operation that the space has, or that the snapshot before says is the author's last, has to
  /// be on the side of the offered head on which its number is.
  private func holdTime(_ author: UInt32, _ sequence: UInt64, _ time: HybridTime) throws {
    guard sequence > 0, let held = merged[author], held.sequence > 0 else { return }
    let isRight =
      sequence == held.sequence
      ? time == held.time : sequence < held.sequence ? time <= held.time : time > held.time
    if !isRight { throw Refusal(reason: Self.otherHeads) }
  }

  /// Ends the check where what comes after says no more.
  struct Refusal: Error {
    let reason: String
  }

  // MARK: - What the space has

  /// The table that a block of a schema version is about; `nil` where no merge takes its rows, or
  /// they are of no account.
  private func table(for block: BodyBlock, _ version: UInt32) -> TracedTable? {
    let name = TracedTable.Name(block)
    if let table = tables[name] { return table }
    // Who wrote under an older version may have meant the table by a name that it had.
    if version < heading.schemaVersion, let table = formerTables[block.table.folded],
      table.takes(block)
    {
      return table
    }
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
        for (number, author) in zip(numbers, known.authors) {
          if author.sequence > merged[number]?.sequence ?? 0 { isEven = false }
          try holdTime(number, author.sequence, author.time)
        }
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
    try holdTime(author, envelope.sequence, envelope.time)
    guard envelope.sequence <= merged[author]?.sequence ?? 0 else {
      isEven = false
      return
    }
    let stamp = Stamp(time: envelope.time, author: author)
    guard operation.bodyError() == nil else {
      return noteOpaque(stamp)
    }
    var row = BodyRow()
    // Under an older version a migration may have rewritten it.
    let hasValues = envelope.schemaVersion >= heading.schemaVersion
    let key = OperationKey(author: envelope.replica, sequence: envelope.sequence)
    if carried[key] == nil { try holdGroup(stamp, operation) }
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

  /// Of a group of which something waits, every operation that touches it is carried along.
  private func holdGroup(_ stamp: Stamp, _ operation: SyncOperation) throws {
    let isAside = aside.contains(stamp)
    guard isAside || waiting[stamp] != nil else { return }
    try operation.forEachBlock { block, reader in
      var row = BodyRow()
      while try reader.nextRow(&row, of: block) {}
      let columns = Set(block.columns.map(\.name.folded) + block.keyColumns.map(\.folded) + [""])
      let isTouched = waiting[stamp]?.contains {
        $0.table.folded == block.table.folded && columns.contains($0.column.folded)
      }
      guard !isAside, isTouched != true else {
        throw Refusal(reason: "it carries a part of a group along, and not all that waits")
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
      holdValues(theirs, against: ours, of: table)
      if hasAll, hasOnly { holdPresence(theirs, against: ours, of: table) }
    }
    let form = theirs.state.formError(
      table.rules.map(\.kind), deletes: table.deletes, authors: authors)
    if let form { throw Refusal(reason: "a row of table \(table.name) is none: \(form)") }
    if differences.areMany, let refusal = differences.refusal(authors) {
      throw Refusal(reason: refusal)
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
      guard part.table.folded == table.name.folded else { return false }
      // A key that the column does not take keeps the whole row waiting.
      if table.isKey(part.column) { return true }
      if part.column.isEmpty { return !table.isOffered }
      guard let column = write.column else { return false }
      return table.names[Int(column)].folded == part.column.folded
        && table.offered[Int(column)] == nil
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
    return ahead[stamp.author].map { $0 <= stamp.time } ?? false
  }

  /// The same write has the same value.
  private func holdValues(
    _ theirs: TracedRow, against ours: TracedRow, of table: TracedTable
  ) {
    guard theirs.state.life == ours.state.life else { return }
    for (column, hash) in ours.values
    where theirs.state.stamp(of: column) == ours.state.stamp(of: column) {
      guard let other = theirs.hash(of: column), other != hash else { continue }
      let stamp = ours.state.stamp(of: column) ?? .zero
      differences.changed.note(RowState.Write(column: column, stamp: stamp), table)
    }
  }

  /// Who wrote what is the same on both sides.
  private func holdPresence(
    _ theirs: TracedRow, against ours: TracedRow, of table: TracedTable
  ) {
    guard theirs.state.life == ours.state.life, isEven, ahead.isEmpty else { return }
    if ours.state.isDeleted != theirs.state.isDeleted {
      differences.changed.note(RowState.Write(column: nil, stamp: ours.state.stamp), table)
    }
  }
}
#endif
