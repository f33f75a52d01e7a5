import GRDB
@_spi(Rehearsal) import TernCore
import TernDatabase

/// Turns notes into operations, one for each ``NoteBurst``, inside the caller's transaction.
///
/// A note only says where to look. What is written is the difference between the row as it stands
/// and its state, so a key that was noted twice yields nothing new the second time.
struct Seal {
  private let transaction: StoreTransaction
  /// Of the operation that is being made.
  private var time = HybridTime.zero
  private var author: AuthorRow
  private let firstSequence: UInt64
  private var body = ByteWriter()
  /// Of tables and columns, in the headings of the body.
  private var nameCount = 0
  /// Of an operation of one row.
  private static let usualBytes = 256
  /// Of the operation's fragments, those that are in the log.
  private var fragments = 0
  private var restored: [Restored] = []
  /// Rows that were written under a key that others show in another form, by table.
  private var lookalikes: [Int: [[UInt8]]] = [:]
  private let hasHeld: Bool
  /// Whether a change of a row can leave children that SQLite took for its own before.
  private let hasConvertedReferences: Bool

  /// Columns whose written values lost, and the values that their table shows instead.
  private struct Restored {
    let table: Int
    let key: [UInt8]
    let content: [String: SQLiteValue]
  }

  private init(_ transaction: StoreTransaction) throws {
    self.transaction = transaction
    author = transaction.authorTable.own
    body.reserve(Self.usualBytes)
    firstSequence = author.stored + 1
    hasHeld = try transaction.held.hasRows()
    // Of most tables not even the shape is looked at.
    hasConvertedReferences = transaction.sql.contains { sql in
      !sql.notedOrphans.isEmpty
        && sql.shape.foreignKeys.contains(where: transaction.sql.isConverted)
    }
  }

  /// - Parameter start: of what the transaction writes by itself, which becomes one operation
  ///   however long it pauses.
  /// - Returns: the sequence numbers of the new operations.
  static func run(
    in transaction: StoreTransaction, since start: ContinuousClock.Instant? = nil
  ) throws -> Range<UInt64> {
    if transaction.large.hasRows {
      for sql in transaction.sql { try transaction.large.noteAgain(sql) }
    }
    let (noted, bursts) = try NoteBurst.all(in: transaction, since: start)
    if noted.isEmpty { return 0..<0 }
    var seal = try Seal(transaction)
    for burst in bursts {
      seal.begin(burst)
      for index in noted { try seal.sealTable(index, burst) }
      try seal.end()
    }
    let sealed = try seal.finish(noted)
    try transaction.notifyOfOtherWriters(noted.map { transaction.sql[$0] })
    if !seal.restored.isEmpty || !seal.lookalikes.isEmpty {
      if Planted.isActive(.sealFiresTriggers) { try seal.putBack() }
      try transaction.triggers.merging(seal.putBack)
    }
    if try !sealed.isEmpty && transaction.held.hasUnsettledRows() {
      try transaction.held.noteUnsettled()
    }
    return sealed
  }

  /// Quarantines rows, as a merge does, that their table refuses with what their state says.
  private func hold(_ refused: [Restored]) throws {
    // A child of such a row is quarantined with it, and not what a foreign key declares.
    try transaction.db.withoutForeignKeys {
      let pass = try MergePass(transaction)
      for row in refused {
        let writer = try pass.writer(for: transaction.sql[row.table])
        try writer.hold(row.key, .constraint, adding: row.content)
      }
      try pass.finish()
    }
  }

  // MARK: - Rows

  /// What goes on from note to note of one table.
  private struct OpenTable: ~Copyable {
    let sql: TableSQL
    let scan: FastStatement
    var states: StateBatch
    var row: NotedRow
    var known: KnownNotes
    /// Whether the body has its heading.
    var isOpen = false
    /// Keys that were quarantined until this seal.
    var shownAgain: Set<[UInt8]> = []
    var hasMigrated = false
    var children: ChildSearch?
    let moved: MovedVeils?

    /// The row's state before its note.
    mutating func state(_ hash: UInt64, in transaction: StoreTransaction) throws -> RowState? {
      guard states.mayHold(hash) else { return try scan.state(from: row.stateColumn) }
      // The scan met the row as it was before.
      try states.flush()
      return try transaction.states.state(of: row.key, sql)
    }

    /// What the row shows instead of what it holds, and whether it brought that from another key.
    func veil(in transaction: StoreTransaction) throws -> (Veil?, isMoved: Bool) {
      if let moved = moved?.veil(of: row.packedKey, exists: row.exists) { return (moved, true) }
      return (try transaction.veils.veil(of: row.packedKey, sql.shape), false)
    }

    mutating func noteChildrenLeft(in transaction: StoreTransaction) throws {
      if children == nil { children = try ChildSearch(transaction, sql.shape) }
      if try children!.isLeft(row.packedKey, isGone: !row.exists) {
        try transaction.held.noteForSettlement(sql.shape.id, row.packedKey)
      }
    }
  }

  private mutating func sealTable(_ index: Int, _ burst: NoteBurst) throws {
    let sql = transaction.sql[index]
    let notes = burst.notes.map { $0[index] ?? [] }
    if !burst.isLast, notes?.isEmpty ?? false { return }
    let scan = try transaction.statement(notes == nil ? sql.scanNotes : sql.scanNote)
    defer { scan.reset() }
    var table = OpenTable(
      sql: sql, scan: scan, states: try StateBatch(transaction, sql),
      row: NotedRow(sql, scan: scan, notes, at: time, in: transaction),
      known: KnownNotes(sql, hasHeld: hasHeld),
      moved: hasHeld ? try MovedVeils(transaction, sql) : nil)
    var scanned = 0
    while try table.row.step() {
      scanned += 1
      if Planted.isActive(.noteLost), (scanned + Int(time.milliseconds)) % 5 == 0 { continue }
      if sql.settleKey != nil, table.row.exists, table.row.hasLookalikeKey {
        lookalikes[index, default: []].append(table.row.packedKey)
      }
      if table.known.contains(table.row) { continue }
      let key = table.row.packedKey
      let hash = key.withUnsafeBytes { KeyHash.of($0) }
      let old = try table.state(hash, in: transaction)
      if hasHeld { try transaction.held.wake(sql.shape.id, key) }
      // A row that is quarantined is absent from its table without having been deleted.
      let isHeld = hasHeld ? try transaction.held.holds(sql.shape.id, key) : false
      if isHeld, !table.row.exists, try !transaction.held.isToGo(sql.shape.id, key) { continue }
      // Each of its notes was written without what was held.
      let wasHeld = isHeld || hasHeld && table.shownAgain.contains(key)
      let (veil, isMoved) = hasHeld ? try table.veil(in: transaction) : (nil, isMoved: false)
      let changed = try table.row.change(
        from: old, wasHeld: wasHeld, veil: veil, isMoved: isMoved, sequence: author.stored + 1)
      table.known.insert(table.row)
      if table.hasMigrated, table.row.isInsertedAfterAll {
        try transaction.migrated.forget(sql.shape.id, key, from: firstSequence)
      }
      // Also of a row that came and went: its children can be there still.
      if !table.row.exists || hasConvertedReferences {
        try table.noteChildrenLeft(in: transaction)
      }
      if let changed, try !append(changed, after: old, veil, hash, &table) { continue }
      if veil != nil || isMoved { try keep(veil, of: table.row, changed, sql) }
      if isHeld { try showAgain(table.row, &table.shownAgain, sql.shape) }
      restore(table.row.lost, of: table.row, in: index)
      if body.count > SyncOperation.Limit.fragmentBytes {
        body.appendEndOfBlock()
        table.isOpen = false
        try cut(continues: true)
      }
    }
    try table.states.flush()
    if table.isOpen { body.appendEndOfBlock() }
    // These look at all notes of the table.
    if !burst.isLast { return }
    if !sql.notedOrphans.isEmpty { try noteOrphans(sql) }
    if sql.shape.pointer != nil { try lookAtFolded(sql) }
  }

  /// Puts a row's change into the body, and its state into the store.
  ///
  /// - Returns: `false` for one that no operation can hold.
  private mutating func append(
    _ state: RowState, after old: RowState?, _ veil: Veil?, _ hash: UInt64,
    _ table: inout OpenTable
  ) throws -> Bool {
    let id = table.sql.shape.id
    transaction.recorder?.note(id, table.row.packedKey, isLocal: true)
    // No peer would take it, nor anything behind it.
    if table.row.isTooLarge || state.lastLife > BodyLimit.life {
      try transaction.large.leaveOut(table.row.packedKey, table.row.note.columns, of: id)
      return false
    }
    if !table.isOpen { try open(table.sql) }
    table.isOpen = true
    body.append(raw: table.row.encoded.bytes)
    try table.states.put(state, key: table.row.keyValues, hash: hash)
    if table.row.isMigrated {
      table.hasMigrated = true
      try transaction.migrated.note(id, table.row.packedKey, sequence: author.stored + 1)
    }
    if table.row.exists, old?.isDeleted ?? false {
      try transaction.held.drop(in: .kept, id, table.row.packedKey)
    }
    if state.isDeleted { try keepGone(table.sql, table.row, state, veil) }
    return true
  }

  /// Writers whose foreign keys are off leave rows without their parents, and a table can have such
  /// rows before it syncs.
  private func noteOrphans(_ sql: TableSQL) throws {
    for orphans in sql.notedOrphans {
      let select = try transaction.statement(orphans)
      defer { select.reset() }
      while try select.step() {
        let key = select.packedKey(sql.shape)
        // One that is too large to travel is of this device alone.
        let values = try key.withUnsafeBytes { try PackedKey.values($0) }
        guard try transaction.states.state(of: values, sql)?.isShown ?? false else { continue }
        try transaction.held.noteForSettlement(sql.shape.id, key)
      }
    }
  }

  /// A row may have come that points to another, and with several UNIQUE indexes one that others
  /// should point to.
  private func lookAtFolded(_ sql: TableSQL) throws {
    try PointedRows(transaction: transaction).adopt(sql, isNoted: true)
    try PointedRows(transaction: transaction).wake(sql)
  }

  private mutating func open(_ sql: TableSQL) throws {
    if nameCount + sql.headingNames > BodyLimit.names { try cut(continues: true) }
    nameCount += sql.headingNames
    body.append(raw: sql.heading)
  }

  /// Keeps what the row of a local delete held, local columns included: of tables where a change
  /// may bring it back.
  private func keepGone(_ sql: TableSQL, _ row: NotedRow, _ state: RowState, _ veil: Veil?) throws {
    let read = try transaction.statement(sql.readGone)
    for (index, value) in row.key.enumerated() { read.bind(Int32(index + 1), copy: value) }
    var content: [String: SQLiteValue] = [:]
    // A migration may have taken it away without a trigger.
    if try read.step() {
      for (index, column) in sql.note.goneColumns.enumerated() {
        content[column.column] = read.value(Int32(index + 1)).value
      }
    }
    read.reset()
    if let veil, !Planted.isActive(.veilKept) { content = veil.lifted(from: content) }
    content.merge(sql.shape.computed(of: state)) { $1 }
    try transaction.held.hold(sql.shape.id, row.packedKey, .deleted, content: content)
  }

  /// Keeps of a veil what nobody wrote, while the row is there.
  private func keep(_ veil: Veil?, of row: NotedRow, _ state: RowState?, _ sql: TableSQL) throws {
    let writer = try TableWriter(transaction, sql, hasHeld: true)
    // Of a row that is gone, a later note may still ask for what it did not show.
    if !row.exists, state?.isPresent ?? true { return }
    let left = try writer.readShown(row.packedKey).flatMap { veil?.left(in: $0) }
    if try left == writer.veil(of: row.packedKey) { return }
    try writer.veils.drop(row.packedKey)
    if let left { try writer.veils.note(left, on: row.packedKey) }
  }

  private func showAgain(
    _ row: NotedRow, _ shownAgain: inout Set<[UInt8]>, _ shape: TableShape
  ) throws {
    try transaction.held.drop(in: .held, shape.id, row.packedKey)
    try transaction.dismissed.forget(RowID(table: shape.id, key: row.packedKey))
    shownAgain.insert(row.packedKey)
  }

  private mutating func restore(
    _ lost: [(column: String, value: SQLiteValue)], of row: NotedRow, in table: Int
  ) {
    if lost.isEmpty { return }
    let content = Dictionary(lost.map { ($0.column, $0.value) }, uniquingKeysWith: { $1 })
    restored.append(Restored(table: table, key: row.packedKey, content: content))
  }

  /// Writes into rows what beat the values that were written to them.
  private func putBack() throws {
    let refused = try restored.filter { try !putBack($0) }
    for (index, keys) in lookalikes {
      let sql = transaction.sql[index]
      let writer = try TableWriter(transaction, sql, hasHeld: true)
      for key in keys { try writer.settleKey(key) }
      try transaction.notifyChanges(in: sql.shape)
    }
    for index in Set(restored.map(\.table) + lookalikes.keys) {
      try transaction.notes.forget(transaction.sql[index])
    }
    if !refused.isEmpty { try hold(refused) }
  }

  /// Writes into a row what beat the values that were written to it.
  ///
  /// - Returns: whether its table takes that.
  private func putBack(_ row: Restored) throws -> Bool {
    let sql = transaction.sql[row.table]
    let writer = try TableWriter(transaction, sql, hasHeld: true)
    let names = row.content.keys.sorted()
    let statement = try transaction.triggers.statement(sql.update(names, isPlain: writer.isPlain))
    let keyCount = try writer.bind(row.key, to: statement)
    for (index, name) in names.enumerated() {
      statement.bind(Int32(keyCount + index + 1), copy: row.content[name]!)
    }
    if try writer.run(statement, row.key) != nil { return false }
    try transaction.notifyChanges(in: sql.shape)
    return true
  }

  // MARK: - Operations

  private mutating func cut(continues: Bool) throws {
    author.stored += 1
    let seen =
      fragments == 0 ? try transaction.authorTable.announce(transaction.authors) : VersionVector()
    let operation = SyncOperation(
      .init(
        replica: transaction.ownID, sequence: author.stored, time: time, seen: seen,
        schemaVersion: transaction.schemaVersion, continues: continues), body: body.bytes)
    body.removeAll()
    nameCount = 0
    // At once: all fragments together can be longer than what there is of memory.
    try transaction.log.append(operation, author: 0)
    fragments += 1
  }

  private mutating func begin(_ burst: NoteBurst) {
    let wall = burst.milliseconds + transaction.clock.correctionMilliseconds
    let last = Planted.isActive(.timeFromClockAlone) ? .zero : transaction.clock.lastTime
    time = last.next(atMilliseconds: wall)
  }

  private mutating func end() throws {
    try CrashPoint.reach(.sealBeforeLog)
    // After a cut at the very end the last fragment is empty, and closes its group.
    if body.count > 0 || fragments > 0 { try cut(continues: false) }
    if fragments == 0 { return }
    fragments = 0
    author.merged = author.stored
    author.time = time
    transaction.clock.lastTime = time
  }

  private mutating func finish(_ noted: [Int]) throws -> Range<UInt64> {
    if author.stored >= firstSequence {
      try transaction.authorTable.saveOwn(author)
      try transaction.clock.save()
    }
    for index in noted { try transaction.notes.forget(transaction.sql[index]) }
    try CrashPoint.reach(.sealBeforeCommit)
    return firstSequence..<author.stored + 1
  }
}
