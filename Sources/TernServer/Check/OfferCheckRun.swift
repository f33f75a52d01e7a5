#if Server
@_spi(Rehearsal) import TernCore

/// One run of an ``OfferCheck``.
final class OfferCheckRun {
  private let check: OfferCheck
  private let source: OfferSource
  private let rows: TracedRows
  private var carried = CarriedOperations()
  /// Those that the snapshot before carries along too.
  private var carriedBefore: [OperationKey: OperationDigest] = [:]

  private var authors = Authors([])
  private var heading = SnapshotHeading(schemaVersion: 0, authors: [])
  /// By author, the last operation that is merged in the offered snapshot.
  private var merged: [UInt32: SnapshotHeading.Author] = [:]
  private var tables: [TracedTable.Name: TracedTable] = [:]
  private var tablesByID: [TracedTable] = []
  /// By a name that it had, a table of the offered snapshot.
  private var formerTables: [String: [TracedTable]] = [:]
  /// The schema version of the snapshot before, once its rows are traced.
  private var previousVersion: UInt32 = 0
  /// Of operations that can't be read here: a newer Tern may have merged them, or put them aside.
  private var opaque: Set<Stamp> = []
  /// Of a base: from when on it may have what the space was not given, by author.
  private var ahead: [UInt32: HybridTime] = [:]
  /// Whether the offered snapshot has seen just what was traced.
  private var isEven = true
  private var differences = OfferDifferences()

  init(_ check: OfferCheck, _ source: OfferSource, _ rows: TracedRows) {
    (self.check, self.source, self.rows) = (check, source, rows)
  }

  /// Of the operations that the snapshot carries along, those that the one before does not.
  var newlyCarried: [OperationKey: OperationDigest] {
    carried.digests.filter { carriedBefore[$0.key] != $0.value }
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
      try rows.forEachMissing { table, key, row in
        hold(row, key, against: nil, of: tablesByID[Int(table)])
      }
    }
    return differences.refusal(authors)
  }

  // MARK: - The offer

  private func offeredParts() -> SnapshotParts {
    SnapshotParts { [check, source] index in
      index < check.offered.parts ? try source.part(index, check.offered) : nil
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
        while !reader.isAtEnd {
          let entry = try SnapshotOperation(&reader, heading.authors)
          let author = heading.authors[entry.author]
          let stamp = Stamp(
            time: entry.operation.envelope.time, author: authors.add(author.id))
          try carried.note(entry, author, stamp)
        }
      case .end: count = try reader.varint("row count")
      }
    }
    rowCount = count ?? 0
    isEven = carried.isEmpty
    guard carried.isWhole(heading.authors) else {
      throw Refusal(reason: "it carries a part of a group along, and not all of it")
    }
    for naming in check.offered.schema?.renamed ?? [] {
      let named = tablesByID.filter { $0.name.folded == naming.name.folded }
      guard named.count == 1, let table = named.first else { continue }
      table.rename(naming)
      // Under its own name too, for its key can have been named otherwise.
      for name in [naming.name] + naming.formerNames {
        formerTables[name.folded, default: []].append(table)
      }
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

  private func headsRefusal() -> String? {
    for (id, offered) in check.offeredHeads {
      let held = merged[authors.add(id)]
      if let held, held.sequence == offered.sequence, held.time == offered.time { continue }
      // Of a group that is not whole, the beginning is carried along.
      let next = (held?.sequence ?? 0) + 1
      let begun = carried.beginnings[id] ?? [:]
      guard next <= offered.sequence, offered.sequence - next < begun.count,
        (next...offered.sequence).allSatisfy({ begun[$0] == offered.time })
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
    if version < heading.schemaVersion,
      let table = formerTables[block.table.folded]?.first(where: { $0.takes(block) })
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
    let parts = SnapshotParts { [source] index in
      guard index < previous.parts else { return nil }
      guard let bytes = try source.part(index, previous) else { throw Self.gone }
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
          let operation = try SnapshotOperation(&reader, known.authors).operation
          let new = NewOperation(operation)
          carriedBefore[new.key] = new.digest
          try trace(operation)
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
      let page = try source.operations(position)
      guard page.trimmed <= position, page.end > position else { throw Self.gone }
      for bytes in page.bytes {
        try trace(SyncOperation(bytes: bytes))
      }
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
    guard envelope.sequence <= merged[author]?.sequence ?? 0 else { return }
    let stamp = Stamp(time: envelope.time, author: author)
    guard operation.bodyError() == nil else {
      return noteOpaque(stamp)
    }
    var row = BodyRow()
    // Under an older version a migration may have rewritten it.
    let hasValues = envelope.schemaVersion >= heading.schemaVersion
    let key = OperationKey(author: envelope.replica, sequence: envelope.sequence)
    if carried.digests[key] == nil, try carried.lacks(operation, stamp) {
      throw Refusal(reason: "it carries a part of a group along, and not all that waits")
    }
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
    var isDeleted: Bool?
    switch try rows.row(row.packedKey, of: table) {
    case .met: throw WireError(.malformed, "row twice")
    case .nothing: holdInvented(theirs, against: nil, of: table)
    case .row(let ours):
      isDeleted = ours.state.isDeleted
      let hasAll = hold(ours, row.packedKey, against: theirs, of: table)
      let hasOnly = holdInvented(theirs, against: ours, of: table)
      holdValues(theirs, against: ours, of: table)
      if hasAll, hasOnly { holdPresence(theirs, against: ours, of: table) }
    }
    try holdForm(theirs, isDeleted, of: table)
    if differences.areMany, let refusal = differences.refusal(authors) {
      throw Refusal(reason: refusal)
    }
    try rows.meet(row.packedKey, of: table)
  }

  /// - Parameter isDeleted: by what the space has. Where it is said the same, what follows from the
  ///   row's own presence may be otherwise: a column may be dropped that was written last.
  private func holdForm(_ row: TracedRow, _ isDeleted: Bool?, of table: TracedTable) throws {
    var state = row.state
    if isDeleted == state.isDeleted {
      state.cells.removeAll { if case .presence = $0.content { true } else { false } }
    }
    let error = state.formError(
      table.rules.map(\.kind), deletes: table.deletes, authors: authors)
    if let error { throw Refusal(reason: "a row of table \(table.name) is none: \(error)") }
  }

  /// Notes what the offered row lacks. Returns whether it lacks nothing at all.
  @discardableResult
  private func hold(
    _ ours: TracedRow, _ key: UnsafeRawBufferPointer, against theirs: TracedRow?,
    of table: TracedTable
  ) -> Bool {
    let lacking = ours.state.writes(
      lackingIn: theirs?.state, columns: table.columns, authors: authors)
    for write in lacking where !isExcused(write, key, table) {
      differences.lacking.note(write, table)
    }
    return lacking.isEmpty
  }

  private func isExcused(
    _ write: RowState.Write, _ key: UnsafeRawBufferPointer, _ table: TracedTable
  ) -> Bool {
    // Later than what the snapshot says it holds.
    if write.stamp.time > merged[write.stamp.author]?.time ?? .zero { return true }
    return carried.excuses(
      write.stamp, key, of: table, column: write.column.map { table.allNames(of: $0) },
      isOffered: write.column.map { table.offered[Int($0)] != nil } ?? table.isOffered)
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
    if stamp == .zero { return false }
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
