import TernCore
import TernDatabase

/// The current row of a seal's scan: its note, its state and its values, made into one row change.
struct NotedRow {
  private let sql: TableSQL
  private let keyCount: Int
  private let isPlain: Bool
  private let scan: FastStatement
  /// Those that it goes through, and how many it has been through; `nil` for all.
  private let notes: [BurstNote]?
  private var noteCount = 0
  private let stamp: Stamp
  private let authors: Authors
  private let transaction: StoreTransaction
  /// Of the operation that the row goes into.
  private var sequence: UInt64 = 0
  /// Where the state begins among the scan's columns.
  let stateColumn: Int32
  /// The row change as it goes into the body; valid after a
  /// ``change(from:wasHeld:veil:isMoved:sequence:)`` that was not `nil`.
  private(set) var encoded = ByteWriter()
  private var keyWriter = ByteWriter()
  private(set) var note = Note.gone
  /// The key's values, in the form that equal keys share, until the scan's next step.
  private(set) var keyValues: [WireValue]
  /// Whether the note has one in another form.
  private(set) var hasLookalikeKey = false
  private(set) var exists = false
  /// It was deleted, and its values are those that it held.
  private var isGone = false
  /// Some note is of a row that may have gone, and the scan is at those.
  private var (hasMaybeGone, isAtMaybeGone) = (false, false)
  private var isOverLimit = false
  /// By column, what travels of an update; empty before the first.
  private var changed: [Difference?] = []
  /// Keys of rows that came and went between two seals.
  private var passing: Set<[UInt8]> = []
  /// Keys of rows that were there before any note of theirs, and of which the first says nothing.
  private var standing: Set<[UInt8]> = []
  /// The row is new to the state and its note is of no insert: a migration brought it.
  private(set) var isMigrated = false
  /// An insert's note comes after that by which this seal took the row for a migration's: a trigger
  /// of the app's wrote to the row before the insert was noted.
  private(set) var isInsertedAfterAll = false
  private var isMoved = false
  /// By column, what it holds where it shows what a veil says, and so was not written; `nil` where
  /// it does so no longer.
  private var veiled: [Int: SQLiteValue?] = [:]
  /// Columns that show another value than was written: an extreme that won, a set in its one form.
  private(set) var lost: [(column: String, value: SQLiteValue)] = []

  /// - Parameters:
  ///   - scan: of all notes, or of one of `notes`.
  ///   - time: of the operation that the rows go into.
  init(
    _ sql: TableSQL, scan: FastStatement, _ notes: [BurstNote]?, at time: HybridTime,
    in transaction: StoreTransaction
  ) {
    self.sql = sql
    self.scan = scan
    self.notes = notes
    stamp = Stamp(time: time, author: 0)
    self.transaction = transaction
    authors = transaction.authors
    keyCount = sql.shape.keyColumns.count
    keyValues = Array(repeating: WireValue(.null), count: keyCount)
    isPlain = sql.isPlain
    stateColumn = Int32(1 + sql.maskCount + keyCount)
    encoded.reserve(128)
    keyWriter.reserve(64)
  }

  /// No operation can hold the row's change.
  var isTooLarge: Bool { isOverLimit || encoded.count > SyncOperation.Limit.rowBytes }
  var packedKey: [UInt8] { keyWriter.bytes }

  var key: [SQLiteValue] { keyValues.map { $0.value! } }

  private func value(_ column: Int) -> WireValue {
    scan.value(stateColumn + 6 + Int32(column))
  }

  /// Whether a row went that a migration had brought after this one was deleted. The note can also
  /// be a second one of the same end; and a table that syncs again notes what it has not, where
  /// deletes keep the row also of what was deleted before.
  private func isGoneAgain(_ deleted: RowState) -> Bool {
    (deleted.presence?.deletion ?? deleted.stamp) != stamp
      && (isGone || !sql.shape.deletes.keepsContent)
  }

  /// Steps to the next note. Those of rows that may have gone come again behind all others: what
  /// was written to a row before it went has to come before its end, and notes of that come after
  /// one of a row that stayed.
  mutating func step() throws -> Bool {
    while try stepScan() {
      note = try Note(scan, 1, count: sql.maskCount)
      if let columns = notes?[noteCount - 1].columns { note = .written(columns) }
      if case .maybeGone = note { hasMaybeGone = true } else if isAtMaybeGone { continue }
      let source = scan.int64(stateColumn + 5)
      (exists, isGone) = (source == 1, source == 2)
      readKey()
      return true
    }
    if isAtMaybeGone || !hasMaybeGone { return false }
    isAtMaybeGone = true
    scan.reset()
    noteCount = 0
    return try step()
  }

  private mutating func stepScan() throws -> Bool {
    guard let notes else { return try scan.step() }
    if noteCount == notes.count { return false }
    scan.reset()
    scan.bind(1, notes[noteCount].row)
    noteCount += 1
    return try scan.step()
  }

  private mutating func readKey() {
    keyWriter.removeAll()
    hasLookalikeKey = false
    for index in 0..<keyCount {
      let noted = scan.value(stateColumn - Int32(keyCount - index))
      let value = noted.inKey
      if value.tag != noted.tag { hasLookalikeKey = true }
      keyWriter.append(value)
      keyValues[index] = value
    }
  }

  /// The row's new state, with its change in ``encoded``; `nil` when nothing differs. The key was
  /// read before.
  ///
  /// - Parameters:
  ///   - wasHeld: the state's values stood in no table, so that the app wrote without them.
  ///   - veil: what the row showed instead of its state's values.
  ///   - isMoved: whether it had another key then, so that all of it is written here.
  ///   - sequence: of the operation that the row goes into.
  mutating func change(
    from old: RowState?, wasHeld: Bool, veil: Veil? = nil, isMoved: Bool = false, sequence: UInt64
  ) throws -> RowState? {
    self.sequence = sequence
    self.isMoved = isMoved
    if let veil { veiled = columns(of: veil) } else if !veiled.isEmpty { veiled = [:] }
    lost.removeAll(keepingCapacity: true)
    encoded.removeAll()
    isOverLimit = false
    (isMigrated, isInsertedAfterAll) = (false, false)
    let life = old?.nextLife ?? 1
    switch (note, old?.ifPresent, exists) {
    case (.inserted, nil, false): passing.insert(packedKey)
    case (.inserted, nil, true):
      isMigrated = standing.contains(packedKey)
      return try inserted(life: life)
    case (.written(let columns), nil, true) where !columns.isEmpty:
      isMigrated = true
      return try inserted(life: life)
    // Nothing was written to it, or its insert has a note of its own.
    case (.written, nil, _): break
    // A row that came without a note, by a migration, and went with one.
    case (.gone, nil, false), (.maybeGone, nil, false), (.standing, nil, false):
      if passing.contains(packedKey) || !(old.map(isGoneAgain) ?? true) { break }
      return deleted(RowState(life: life))
    case (.gone, nil, true), (.maybeGone, nil, true), (.standing, nil, true):
      standing.insert(packedKey)
    // Its end, if it went, has a note of its own, or this one comes again.
    case (.standing, let alive?, _), (.gone, let alive?, true),
      (.maybeGone, let alive?, _) where exists || !isAtMaybeGone:
      if alive.stamp == stamp { standing.insert(packedKey) }
    case (.gone, let alive?, false), (.maybeGone, let alive?, _): return deleted(alive)
    // Of a row that is gone, what is kept includes what was written last.
    case (.inserted(let columns), let alive?, _), (.written(let columns), let alive?, _):
      if !exists, !isGone { return deleted(alive) }
      if case .inserted = note, alive.stamp == stamp {
        isInsertedAfterAll = !standing.contains(packedKey)
      }
      return try updated(alive, columns, wasHeld: wasHeld)
    }
    return nil
  }

  /// A reference of several columns is written whole, or not.
  private func columns(of veil: Veil) -> [Int: SQLiteValue?] {
    var found: [Int: SQLiteValue?] = [:]
    for reference in veil.references {
      let places = reference.compactMap { column in
        sql.shape.columns.firstIndex { $0.name == column.name }.map { (index: $0, column: column) }
      }
      let isShown =
        !Planted.isActive(.veilSealed)
        && places.allSatisfy { value($0.index).value == $0.column.shown }
      for (index, column) in places { found[index] = .some(isShown ? column.held : nil) }
    }
    return found
  }

  /// Puts what was written to a column, or what it holds and does not show: by ``Veil`` the latest
  /// write stands in it, so that the state has its stamp alone.
  private mutating func append(_ written: WireValue, of column: Int) {
    if !veiled.isEmpty, let held = veiled[column] ?? nil {
      encoded.append(held)
    } else {
      encoded.append(written)
    }
  }

  private mutating func begin(_ kind: RowChange.Kind, life: UInt32) {
    encoded.append(row: kind, life: life)
    encoded.append(raw: keyWriter.bytes)
  }

  private mutating func deleted(_ alive: RowState) -> RowState {
    begin(.delete, life: alive.life + 1)
    var state = alive
    var covered =
      sql.shape.deletes == .updateWins ? alive.seenWrites(authors: authors) : VersionVector()
    if Planted.isActive(.coversUnseen) {
      for (id, last) in covered.sequences where id != transaction.ownID { covered[id] = last + 5 }
    }
    if sql.shape.deletes == .updateWins { encoded.append(covered) }
    let change = rowChange(.delete, life: alive.life + 1, covered)
    begin(change, in: &state)
    settle(change, in: &state)
    return state
  }

  /// Merges the row's part of a local change.
  private func begin(_ change: RowChange, in state: inout RowState) {
    _ = state.begin(change, deletes: sql.shape.deletes, authors: authors)
  }

  private func rowChange(
    _ kind: RowChange.Kind, life: UInt32, _ covered: VersionVector = VersionVector()
  ) -> RowChange {
    RowChange(kind: kind, life: life, stamp: stamp, sequence: sequence, covered: covered)
  }

  /// Decides, after a change's columns, whether the row is deleted.
  private func settle(_ change: RowChange, in state: inout RowState) {
    state.settle(sql.shape.deletes, after: change, authors: authors)
  }

  private mutating func inserted(life: UInt32) throws -> RowState {
    begin(.insert, life: life)
    if isPlain {
      for column in 0..<sql.shape.columns.count { append(value(column), of: column) }
      return .inserted(life: life, stamp: stamp, columnCount: sql.shape.rules.count)
    }
    var state = RowState(life: 0)
    let inserted = rowChange(.insert, life: life)
    begin(inserted, in: &state)
    for (index, column) in sql.shape.columns.enumerated() {
      if column.rule == .set {
        let change = try change(of: index, in: &state, isComplete: true, isNew: true)!
        change.bytes.withUnsafeBytes { encoded.append(.blob, bytes: $0) }
        continue
      }
      if column.rule == .text {
        let change = try textChange(of: index, in: &state, isNew: true)!
        change.withUnsafeBytes { encoded.append(.blob, bytes: $0) }
        continue
      }
      var written = value(index)
      if column.rule == .counter, written.wide == nil {
        // Only a migration can have left something else than a number there.
        written = WireValue(.integer)
        lost.append((column.name, .integer(0)))
      }
      append(written, of: index)
      _ = try state.mergeColumn(
        UInt32(column.id), rule: column.rule, value: written, stamp: stamp,
        turn: Turn(sequence), authors: authors)
    }
    state.finishInsert(stamp, rules: sql.shape.rules, authors: authors)
    settle(inserted, in: &state)
    return state
  }

  /// Brings a set to what its column says.
  ///
  /// - Parameter isNew: whether even no element is a change.
  private mutating func change(
    of index: Int, in state: inout RowState, isComplete: Bool, isNew: Bool = false
  ) throws -> SetChange? {
    let (column, written) = (sql.shape.columns[index], value(index))
    let id = UInt32(column.id)
    let elements = try SetText.elements(of: written, in: transaction.connection)
    var change = elements.flatMap { state.elements(of: id).change(to: $0, isComplete: isComplete) }
    if isNew, change == nil { change = SetChange(added: []) }
    if let change {
      _ = state.apply(
        change, to: id, stamp: stamp, turn: Turn(sequence), authors: authors)
    }
    let shown = state.elements(of: id).json
    if elements != nil, written.value != shown { lost.append((column.name, shown)) }
    return change
  }

  /// Brings a text to what its column says.
  ///
  /// - Parameter isBlind: whether the app wrote it without the text that it had.
  private mutating func textChange(
    of index: Int, in state: inout RowState, isBlind: Bool = false, isNew: Bool = false
  ) throws -> [UInt8]? {
    let column = sql.shape.columns[index]
    let id = UInt32(column.id)
    // Only a migration can have left something else than a text there.
    guard case .text(let bytes) = value(index).value else {
      return isNew ? TextChange.initial([]).bytes : nil
    }
    let written = Array(String(decoding: bytes, as: UTF8.self).utf8)
    let deltas =
      isNew
      ? []
      : try SpliceTable(transaction.connection).deltas(of: keyWriter.bytes, column.id, sql.shape.id)
    let change = try state.write(
      .init(written, deltas: deltas, isBlind: isBlind, isNew: isNew), to: id, stamp: stamp,
      sequence: sequence,
      authors: authors)
    if let change, !change.isWithinLimits { isOverLimit = true }
    if let shown = state.text(of: id)?.shown, shown != bytes {
      lost.append((column.name, .text(shown)))
    }
    return change?.bytes
  }

  /// What travels of a column that was written.
  private enum Difference {
    case value
    case number(Int128)
    /// Of a set or a text.
    case change([UInt8])
  }

  /// Merges what was written to a column; `nil` where it is nothing new.
  ///
  /// - Parameter isNew: whether the row begins with it, so that even nothing new is a change.
  private mutating func difference(
    of index: Int, _ column: TableShape.Column, in state: inout RowState, wasHeld: Bool,
    isNew: Bool
  ) throws -> Difference? {
    let id = UInt32(column.id)
    let written = value(index)
    switch column.rule.kind {
    case .lastWriter, .order:
      if state.stamp(of: id) == stamp { return nil }
    case .maximum, .minimum:
      if case .extreme(let value, _) = state.content(of: id), value == written.value, !isNew {
        return nil
      }
    // What the first note of a key left, the second does not count again: of a row that was held
    // aside, of a sum that the column does not show, of what no operation holds of a set or a text.
    case .counter:
      if state.stamp(of: id) == stamp { return nil }
      return counterDifference(of: column, written, in: &state, wasHeld: wasHeld, isNew: isNew)
    case .set:
      if state.stamp(of: id) == stamp { return nil }
      return try change(of: index, in: &state, isComplete: !wasHeld, isNew: isNew)
        .map { .change($0.bytes) }
    case .text:
      if state.stamp(of: id) == stamp { return nil }
      if Planted.isActive(.editBeaten), let last = state.stamp(of: id), last.author != 0,
        let shown = state.text(of: id)?.shown
      {
        lost.append((column.name, .text(shown)))
        return nil
      }
      return try textChange(of: index, in: &state, isBlind: wasHeld, isNew: isNew)
        .map { .change($0) }
    }
    let wins = try state.mergeColumn(
      id, rule: column.rule, value: written, stamp: stamp, turn: Turn(sequence), authors: authors)
    if !wins, case .extreme(let value, _) = state.content(of: id) {
      lost.append((column.name, value))
    }
    return .value
  }

  private mutating func counterDifference(
    of column: TableShape.Column, _ written: WireValue, in state: inout RowState, wasHeld: Bool,
    isNew: Bool
  ) -> Difference? {
    let id = UInt32(column.id)
    let shown = wasHeld ? 0 : Int64(clamping: state.sum(of: id))
    let difference = (written.wide ?? 0) - Int128(shown)
    let left = Int64(clamping: state.sum(of: id) &+ difference)
    if wasHeld || written.wide != Int128(left) { lost.append((column.name, .integer(left))) }
    if difference == 0, !isNew { return nil }
    state.add(difference, to: id, stamp: stamp, authors: authors)
    return .number(difference)
  }

  private mutating func updated(
    _ alive: RowState, _ columns: ColumnMask, wasHeld: Bool
  ) throws -> RowState? {
    var state = alive
    var count = 0
    // An update alone would wait for the row's insert on other devices.
    let isNew = exists && !alive.isComplete
    if changed.isEmpty { changed = Array(repeating: nil, count: sql.shape.columns.count) }
    for (index, column) in sql.shape.columns.enumerated() {
      let isWritten = veiled.isEmpty || isMoved ? nil : veiled[index].map { $0 == nil }
      changed[index] =
        isWritten ?? (isNew || columns.contains(column))
        ? try difference(of: index, column, in: &state, wasHeld: wasHeld, isNew: isNew) : nil
      if changed[index] != nil { count += 1 }
    }
    if count == 0 { return nil }
    let update = rowChange(.update, life: state.life)
    if sql.shape.deletes.keepsContent { begin(update, in: &state) }
    let isWhole = count == sql.shape.columns.count && (isNew || travelsAsInsert)
    encodeUpdate(&state, isWhole: isWhole)
    settle(update, in: &state)
    return state
  }

  /// Whether a row that is written whole is as if it was created now. Not where rows rival for a
  /// place, which is the earlier one's, nor where one column is all that there is to update.
  private var travelsAsInsert: Bool {
    if case .inserted = note { return true }
    return sql.shape.uniques.isEmpty && sql.shape.columns.count > 1
  }

  /// A row whose every column was written, e.g. by REPLACE, travels as an insert into the same
  /// life: its stamp then covers them all, and no cell is needed.
  private mutating func encodeUpdate(_ state: inout RowState, isWhole: Bool) {
    begin(isWhole ? .insert : .update, life: state.life)
    if isWhole {
      state.finishInsert(stamp, rules: sql.shape.rules, authors: authors)
    } else {
      for word in 0..<(sql.shape.columns.count + 7) / 8 {
        var mask: UInt8 = 0
        for bit in 0..<min(8, sql.shape.columns.count - word * 8)
        where changed[word * 8 + bit] != nil {
          mask |= 1 << bit
        }
        encoded.append(byte: mask)
      }
    }
    for index in sql.shape.columns.indices {
      switch changed[index] {
      case .number(let difference): encoded.append(wide: difference)
      case .change(let change): change.withUnsafeBytes { encoded.append(.blob, bytes: $0) }
      case .value: append(value(index), of: index)
      case nil: continue
      }
    }
  }
}
