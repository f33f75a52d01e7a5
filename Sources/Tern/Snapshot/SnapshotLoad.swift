import TernCore
import TernDatabase

/// Puts a snapshot's state in the place of this replica's, inside the caller's transaction: in
/// memory are one part, and the keys of rows that went or lack their parents.
///
/// What the snapshot lacks and the log has, this replica's own operations first, is merged again on
/// top. Where the log has it no more, the snapshot is joined with the state that is here. Rows that
/// are equal already are not written, and local columns stay.
final class SnapshotLoad {
  private let transaction: StoreTransaction
  private let pass: MergePass
  private let isRepairing: Bool
  private let origin: SnapshotOrigin?
  private let forks: RemoteForks?
  private let banned: BannedOperations
  private var parts: SnapshotParts
  private let locals = LocalColumns()
  private var rows = 0
  /// The heading's authors, with their index here.
  private var authors: [(id: ReplicaID, index: UInt32)] = []
  private var heads = VersionVector()
  private var beginnings: [ReplicaID: SnapshotHead] = [:]
  /// Authors of whom the log has another operation than the snapshot.
  private var others: Set<UInt32> = []
  private var join: SnapshotJoin?
  private var rowCheck = SnapshotCheck(seen: [:])
  /// Operations of the log that come after the snapshot, or of groups that are not whole in it.
  private var tail: Set<LogID> = []
  /// By table: whether a state was there before.
  private var hadStates: Set<Int64> = []
  /// The greatest time that rows carry, and operations of which a part waits for an upgrade.
  private var latest = HybridTime.zero
  /// Authors whose last operation is ahead of the clock, and those of whom it waits for that.
  private var ahead: Set<UInt32> = []
  private var waitForClock: Set<UInt32> = []

  /// - Parameters:
  ///   - origin: `nil` where nobody says anything of it.
  ///   - part: by its number, from 0; `nil` behind the last.
  init(
    _ transaction: StoreTransaction, from origin: SnapshotOrigin?, isRepairing: Bool,
    _ part: @escaping (Int) throws -> [UInt8]?
  ) throws {
    self.transaction = transaction
    self.isRepairing = isRepairing
    self.origin = origin
    forks = try origin.map { try RemoteForks(transaction, at: $0.place.remoteID) }
    banned = try BannedOperations(transaction, origin?.bans ?? [:])
    parts = SnapshotParts(part)
    // Of what comes after the snapshot, something may be here that cannot be read.
    pass = try MergePass(transaction, isCheckingBodies: transaction.waiting.hasGroups)
  }

  func run() throws -> SnapshotSummary {
    let heading = try readHeading()
    heads = heading.heads
    try check(heading)
    try noteAuthors(heading)
    try banned.drop(pass.concurrency.losses)
    tail = try takeHeads(heading)
    rowCheck = SnapshotCheck(
      seen: Dictionary(uniqueKeysWithValues: zip(authors.map(\.index), heading.authors.map(\.time)))
    )
    let tailCount = tail.count
    try transaction.waiting.forget(of: join?.behind)
    for sql in transaction.sql { try pass.writer(for: sql).recordsKeys = false }
    try markStates()
    try readParts(heading)
    let summary = SnapshotSummary(
      heading, beginnings: beginnings, rows: rows, parts: parts.count, mergedAgain: tailCount)
    try check(summary)
    if join == nil { try sweep() }
    if !(origin?.isAccepted ?? false) { try rowCheck.finish() }
    for sql in transaction.sql {
      let writer = try pass.writer(for: sql)
      writer.recordsKeys = true
      if !sql.shape.localColumns.isEmpty { writer.locals = locals }
    }
    try noteOrphans()
    try WaitingReplay(transaction).mergeParts(pass)
    for id in tail.sorted(by: { $0.rawValue < $1.rawValue })
    where !Planted.isActive(.snapshotTailLost) {
      guard let operation = try transaction.log.operation(id) else { continue }
      try transaction.log.drop(id)
      try pass.take(operation, isOwn: id.author == 0)
    }
    try transaction.held.wakeAll()
    try pass.finish()
    try banned.announceLess()
    if Planted.isActive(.snapshotForgetsInbox) {
      try transaction.statement("DELETE FROM \(transaction.tables.inbox)").run()
    }
    return summary
  }

  // MARK: - Parts

  private func next() throws -> (kind: SnapshotPart.Kind, content: [UInt8]) {
    do {
      if let part = try parts.next() { return part }
    } catch is SnapshotParts.Disorder {
      throw SnapshotError(.incomplete, "the snapshot's parts are out of order; fetch it again")
    }
    throw SnapshotError(
      .incomplete, "the snapshot ends after part \(parts.count) and lacks its end; fetch it again")
  }

  private func readHeading() throws -> SnapshotHeading {
    try next().content.withUnsafeBytes { buffer in
      var reader = ByteReader(buffer)
      _ = try reader.byte("part")
      return try SnapshotHeading(&reader)
    }
  }

  private func readParts(_ heading: SnapshotHeading) throws {
    while !parts.isAtEnd {
      let (kind, content) = try next()
      try content.withUnsafeBytes { buffer in
        var reader = ByteReader(buffer)
        _ = try reader.byte("part")
        switch kind {
        case .heading: break
        case .seen: try readSeen(&reader)
        case .rows: try readRows(&reader)
        case .operations:
          while !reader.isAtEnd { try take(SnapshotOperation(&reader, heading.authors)) }
        case .end:
          guard try reader.varint("row count") == UInt64(rows), reader.isAtEnd else {
            throw WireError(.malformed, "row count")
          }
        }
      }
    }
    do {
      _ = try parts.next()
    } catch is SnapshotParts.Disorder {
      throw SnapshotError(.incomplete, "the snapshot goes on behind its end")
    }
  }

  private func take(_ entry: SnapshotOperation) throws {
    let (waiting, operation) = (
      CarriedOperation(entry, author: authors[entry.author].index), entry.operation
    )
    guard waiting.id.sequence <= heads[operation.envelope.replica] else {
      return try takePart(waiting, operation)
    }
    if let join {
      if !join.behind.contains(waiting.id.author) { return }
      try refuseCounters()
    }
    noteTime(of: waiting, operation)
    rowCheck.excuse(waiting, operation.envelope.time)
    try CarriedOperations(transaction: transaction).take(waiting, operation)
  }

  /// Notes an operation of a group that is not whole: it is stored behind the heads, with the tail.
  private func takePart(_ waiting: CarriedOperation, _ operation: SyncOperation) throws {
    guard operation.envelope.continues, waiting.parts.isEmpty, waiting.aside == nil else {
      throw WireError(.malformed, "an operation behind the heads")
    }
    let (author, sequence) = (operation.envelope.replica, waiting.id.sequence)
    beginnings[author] = SnapshotHead(sequence: sequence, time: operation.envelope.time)
    if try tail.contains(waiting.id)
      || transaction.authorTable.row(waiting.id.author).stored >= sequence
    {
      // A copy's: what this log has of the author stays, and nothing of both is mixed.
      if try transaction.log.isOther(operation, than: waiting.id) {
        others.insert(waiting.id.author)
        if waiting.id.author != 0 {
          try forks?.note(waiting.id.author, waiting.id.sequence, isOther: true)
        }
      }
      return
    }
    if others.contains(waiting.id.author) || forks?.leavesOut(waiting.id.author) ?? false { return }
    if waiting.id.author == 0 { throw MergeError(.foreignOwn, author, sequence) }
    try transaction.log.append(operation, author: waiting.id.author)
    tail.insert(waiting.id)
  }

  // MARK: - Heads

  private func check(_ heading: SnapshotHeading) throws {
    guard heading.schemaVersion <= transaction.schemaVersion else {
      throw SnapshotError(
        .schemaMismatch,
        "the snapshot has schema version \(heading.schemaVersion), this app "
          + "\(transaction.schemaVersion); update the app")
    }
    let times = Dictionary(heading.authors.map { ($0.id, $0.time) }, uniquingKeysWith: max)
    for (index, id) in transaction.authors.ids.enumerated() {
      let row = try transaction.authorTable.row(UInt32(index))
      if index == 0, heads[id] > row.stored { throw MergeError(.foreignOwn, id, row.stored + 1) }
      // Times increase, but for those of a group. An author whose times go back is another copy's,
      // or nobody's.
      let time = times[id] ?? .zero
      let isBack = row.stored > row.merged ? time < row.time : time <= row.time
      if heads[id] > row.stored, isBack, forks?.leavesOut(UInt32(index)) != true {
        throw SnapshotError(
          .takesAway,
          "the snapshot says that operation \(heads[id]) of replica \(id) came before its operation "
            + "\(row.stored), which is here; nothing was loaded. Let another device give the remote one"
        )
      }
      let isFork = try isForked(id, UInt32(index), row, time)
      // What it lacks of a banned one is lacking everywhere.
      let isTrimmed = row.trimmed > heads[id] && !banned.concerns(UInt32(index))
      guard row.merged > heads[id] && isTrimmed || isFork else { continue }
      if isRepairing {
        throw SnapshotError(
          .lacksOperations,
          isFork
            ? "the snapshot holds other operations of replica \(id) than are here: a database was copied"
            : "the snapshot holds replica \(id) up to operation \(heads[id]) and this log begins after "
              + "\(row.trimmed); load a newer one")
      }
      join = SnapshotJoin(losses: pass.concurrency.losses)
    }
    if join != nil, try transaction.waiting.hasGroups || transaction.waiting.hasParts() {
      try refuseCounters()
    }
  }

  /// Whether the remote has another copy's operations of an author, or the heading another time of
  /// one that is here. What such a snapshot lacks says nothing, and so takes nothing away.
  private func isForked(
    _ id: ReplicaID, _ index: UInt32, _ row: AuthorRow, _ time: HybridTime
  ) throws -> Bool {
    guard index != 0, heads[id] > 0 else { return false }
    if forks?.leavesOut(index) ?? false { return true }
    guard row.stored >= heads[id] else { return false }
    let here = try transaction.log.time(of: LogID(author: index, sequence: heads[id]), row)
    return here.map { $0 != time } ?? false
  }

  /// What waits on one side is counted on the other, and would be counted once more when it is
  /// merged: a share does not say of which operations it is.
  private func refuseCounters() throws {
    guard transaction.sql.contains(where: { $0.shape.rules.contains(.counter) }) else { return }
    throw SnapshotError(
      .lacksOperations,
      "operations wait for a newer version here or in the snapshot, which has to be joined with what is "
        + "here, and counters are in it; update the app on all devices, and sync again")
  }

  /// Finds out who has seen more of whom, and names the snapshot's authors.
  private func noteAuthors(_ heading: SnapshotHeading) throws {
    for author in heading.authors {
      let index = transaction.authors.add(author.id)
      authors.append((author.id, index))
      try join?.note(author, transaction.authorTable.row(index), index)
    }
  }

  /// Moves every author to where the snapshot has it; where it is joined, those who are behind.
  ///
  /// - Returns: operations of the log that come after.
  private func takeHeads(_ heading: SnapshotHeading) throws -> Set<LogID> {
    let held = Dictionary(uniqueKeysWithValues: heading.authors.map { ($0.id, $0) })
    var tail: Set<LogID> = []
    for (index, id) in transaction.authors.ids.enumerated() {
      let index = UInt32(index)
      var row = try transaction.authorTable.row(index)
      if join == nil { try tail.formUnion(transaction.log.ids(of: index, after: heads[id])) }
      let time = held[id]?.time ?? .zero
      let isBehind = row.stored < heads[id]
      let here =
        isBehind || heads[id] == 0
        ? nil : try transaction.log.time(of: LogID(author: index, sequence: heads[id]), row)
      if let here, here != time {
        // Two copies of the author wrote on. What is here of it stays: ``isForked(_:_:_:_:)``.
        if index == 0 { throw MergeError(.foreignOwn, id, heads[id]) }
        try forks?.note(index, heads[id], isOther: true)
      }
      // Its state, its log and what of it waits stay.
      if join != nil, !isBehind { continue }
      if isBehind { pass.concurrency.noteEnd(row.stored, at: row.time, of: index) }
      (row.stored, row.merged, row.time) = (heads[id], heads[id], here ?? time)
      try transaction.authorTable.save(row, of: index, transaction.authors)
      if isBehind || banned.concerns(index) && row.trimmed > row.stored {
        try transaction.log.drop(of: index, upTo: heads[id])
        (row.trimmed, row.trimmedTime) = (row.stored, row.time)
        try transaction.authorTable.saveTrimmed(row, of: index)
      }
      if try !moveClock(to: time) { ahead.insert(index) }
    }
    return tail
  }

  // MARK: - Times

  /// Local writes have to be later than everything in the state (INV-11).
  ///
  /// - Returns: `false`, and does nothing, where that would take the clock
  ///   along: see ``ReplicaClock``.
  private func moveClock(to time: HybridTime) throws -> Bool {
    let remote = origin?.nowMilliseconds ?? 0
    if try transaction.clock.isFuture(time, remoteMilliseconds: remote) { return false }
    transaction.clock.lastTime = max(transaction.clock.lastTime, time)
    return true
  }

  private func noteTime(of waiting: CarriedOperation, _ operation: SyncOperation) {
    let envelope = operation.envelope
    if waiting.aside?.isFuture ?? false {
      if envelope.sequence == heads[envelope.replica] { waitForClock.insert(waiting.id.author) }
    } else if waiting.aside != nil || !waiting.parts.isEmpty {
      // An upgrade may merge it.
      latest = max(latest, envelope.time)
    }
  }

  /// Holds what was read against the clocks, and against what the remote said of it.
  private func check(_ summary: SnapshotSummary) throws {
    // Where copies of an author wrote on, a row may be later than the heading has the author.
    guard try ahead.isSubset(of: waitForClock) && moveClock(to: latest) else {
      throw SnapshotError(
        .timeAhead,
        "the snapshot's times are more than five minutes ahead of this clock and the remote's; set the "
          + "clock, or let another device give the remote another one")
    }
    guard let told = origin?.heads, !told.sequences.isEmpty else { return }
    guard summary.mayTell(told) else { throw WireError(.malformed, "snapshot's heads") }
  }

  private func readSeen(_ reader: inout ByteReader) throws {
    while !reader.isAtEnd {
      let seen = try reader.snapshotSeen(authors.count)
      let index = authors[seen.author].index
      if index != 0 {
        try pass.noteSeen(VersionVector([authors[seen.other].id: seen.sequence]), by: index)
      }
    }
  }

  // MARK: - Rows

  private func markStates() throws {
    for sql in transaction.sql {
      let any = try transaction.statement(sql.anyState)
      defer { any.reset() }
      guard try any.step() else { continue }
      any.reset()
      hadStates.insert(sql.shape.id)
      if join != nil { continue }
      try transaction.statement(
        Planted.isActive(.snapshotKeepsOld) ? sql.anyState : sql.markStates
      ).run()
    }
  }

  private func readRows(_ reader: inout ByteReader) throws {
    var body = BodyReader(reader)
    guard let block = try body.nextBlock() else { throw WireError(.malformed, "rows") }
    reader = body.rest
    let found = try pass.merger(for: block)
    if found == nil,
      transaction.sql.contains(where: { $0.shape.isNamed(block.table) })
    {
      throw SnapshotError(
        .schemaMismatch,
        "the snapshot's table \(block.table) has another key or another delete rule than here; "
          + "open both with one schema")
    }
    let table = try found.map {
      try SnapshotTable(
        transaction, writer: $0.0.writer, block, hadStates: hadStates.contains($0.1.id),
        isRepairing: isRepairing, join: join, check: rowCheck, locals: locals)
    }
    var row = SnapshotRow()
    while !reader.isAtEnd {
      try reader.snapshotRow(&row, of: block, authors: authors.count)
      rows += 1
      latest = max(latest, row.latest)
      try table?.take(row) { place throws(WireError) in self.authors[Int(place)].index }
    }
  }

  /// Takes away what the snapshot does not have.
  private func sweep() throws {
    for sql in transaction.sql where hadStates.contains(sql.shape.id) {
      let writer = try pass.writer(for: sql)
      let large = try LargeRow.all(of: sql.shape.id, in: transaction)
      var last: [UInt8]?
      while true {
        let select = try transaction.statement(sql.markedKeys(isFirst: last == nil))
        if let last { _ = try writer.bind(last, to: select) }
        var keys: [[UInt8]] = []
        while try select.step() { keys.append(select.packedKey(sql.shape)) }
        select.reset()
        for key in keys {
          try holdMissing(key, writer)
          if let large = large[key] {
            try leave(large, key, writer)
          } else {
            try locals.remove(key, writer)
          }
        }
        guard let next = keys.last else { break }
        last = next
      }
      try transaction.statement(sql.forgetMarked).run()
    }
  }

  private func holdMissing(_ key: [UInt8], _ writer: TableWriter) throws {
    let read = try transaction.statement(writer.sql.readMarked)
    _ = try writer.bind(key, to: read)
    defer { read.reset() }
    let values = try key.withUnsafeBytes { try PackedKey.values($0) }
    do {
      guard try read.step(), let mine = try read.state(from: 0) else { return }
      rowCheck.hold(
        nil, against: mine, of: writer.sql.shape, values, knows: { _ in true }, transaction.authors)
    } catch is WireError {
      // A damaged state says nothing.
    }
  }

  /// What is too large to travel was written here meanwhile, and stands for itself, as a row that
  /// no operation has. One of the tail may have inserted it: that is merged again on top.
  private func leave(_ large: LargeRow, _ key: [UInt8], _ writer: TableWriter) throws {
    guard let shown = try writer.read(key) else { return }
    let read = try transaction.statement(writer.sql.readMarked)
    _ = try writer.bind(key, to: read)
    // One that is damaged is as good as none.
    let old = try read.step() ? try? read.state(from: 0) : nil
    read.reset()
    var content: [String: SQLiteValue] = [:]
    for column in writer.sql.shape.columns where large.columns.contains(column) {
      content[column.name] = try large.value(
        of: column, showing: shown[column.name] ?? .null, from: old?.ifPresent, to: nil,
        in: transaction)
    }
    if !content.isEmpty { try writer.change(key, content: content) }
  }

  private func noteOrphans() throws {
    for sql in transaction.sql where !sql.shape.foreignKeys.isEmpty {
      let writer = try pass.writer(for: sql)
      for foreignKey in sql.shape.foreignKeys {
        let select = try transaction.statement(sql.orphans(foreignKey))
        defer { select.reset() }
        while try select.step() { writer.written.append(select.packedKey(sql.shape)) }
      }
    }
  }
}
