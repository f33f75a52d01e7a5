import TernCore
import TernDatabase

/// The current row of a seal's scan: its note, its state and its values, made into one row change.
struct NotedRow {
  private let shape: TableShape
  private let keyCount: Int
  private let scan: FastStatement
  private let stamp: Stamp
  private let authors: Authors
  private let transaction: StoreTransaction
  /// Of the operation that the row goes into.
  private var sequence: UInt64 = 0
  /// Where the state begins among the scan's columns.
  let stateColumn: Int32
  /// The row change as it goes into the body; valid after a ``change(from:wasHeld:sequence:)`` that
  /// was not `nil`.
  private(set) var encoded = ByteWriter()
  private var keyWriter = ByteWriter()
  /// The key's values and the note's masks, until the scan's next step.
  private(set) var keyValues: [WireValue] = []
  private(set) var masks: [Int64] = []
  private var isOverLimit = false
  private var changed: [Bool]
  /// Keys of rows that came and went between two seals.
  private var passing: Set<[UInt8]> = []
  /// Keys of rows that were there before any note of theirs, and of which the first says nothing.
  private var standing: Set<[UInt8]> = []
  /// The row is new to the state and its note is of no insert: a migration brought it.
  private(set) var isMigrated = false
  /// An insert's note comes after that by which this seal took the row for a migration's: a trigger
  /// of the app's wrote to the row before the insert was noted.
  private(set) var isInsertedAfterAll = false
  /// Columns that show another value than was written: an extreme that won, a set in its one form.
  private(set) var lost: [(column: String, value: Value)] = []

  init(shape: TableShape, scan: FastStatement, stamp: Stamp, in transaction: StoreTransaction) {
    self.shape = shape
    self.scan = scan
    self.stamp = stamp
    self.transaction = transaction
    authors = transaction.authors
    keyCount = shape.keyColumns.count
    stateColumn = Int32(1 + shape.maskCount + keyCount)
    changed = Array(repeating: false, count: shape.columns.count)
  }

  var exists: Bool { scan.int64(stateColumn + 5) == 1 }
  /// It was deleted, and its values are those that it held.
  private var isGone: Bool { scan.int64(stateColumn + 5) == 2 }
  /// No operation can hold the row's change.
  var isTooLarge: Bool { isOverLimit || encoded.count > SyncOperation.Limit.rowBytes }
  var packedKey: [UInt8] { keyWriter.bytes }

  var key: [Value] {
    keyValues.map { $0.value! }
  }

  private func value(_ column: Int) -> WireValue {
    scan.value(stateColumn + 6 + Int32(column))
  }

  /// The note is of the row's end; an update that changes nothing has a mask without a bit.
  private var isNotedAsGone: Bool { scan.isNull(1) || scan.value(1).tag == .text }

  /// The note is of a row that was there when another one was to be inserted under its key.
  private var isNotedAsStanding: Bool {
    let mask = scan.value(1)
    return mask.tag == .text && mask.value == .string(NoteSQL.standing)
  }

  private var isNotedAsInserted: Bool { masks[0] == -1 }

  /// Whether a row went that a migration had brought after this one was deleted. The note can also
  /// be a second one of the same end; and a table that syncs again notes what it has not, where
  /// deletes keep the row also of what was deleted before.
  private func isGoneAgain(_ deleted: RowState) -> Bool {
    (deleted.presence?.deletion ?? deleted.stamp) != stamp
      && (isGone || !shape.deletes.keepsContent)
  }

  private func isMasked(_ column: Int) -> Bool {
    let id = shape.columns[column].id
    let (word, bit) = id.quotientAndRemainder(dividingBy: TableShape.maskBits)
    return masks[word] >> Int64(bit) & 1 == 1
  }

  mutating func readKey() {
    keyWriter.removeAll()
    masks.removeAll(keepingCapacity: true)
    keyValues.removeAll(keepingCapacity: true)
    for index in 0..<shape.maskCount { masks.append(scan.int64(Int32(1 + index))) }
    for index in 0..<keyCount {
      let value = scan.value(Int32(1 + shape.maskCount + index))
      keyWriter.append(key: value)
      keyValues.append(value)
    }
  }

  /// The row's new state, with its change in ``encoded``; `nil` when nothing differs. The key was
  /// read before.
  ///
  /// - Parameters:
  ///   - wasHeld: the state's values stood in no table, so that the app wrote without them.
  ///   - sequence: of the operation that the row goes into.
  mutating func change(from old: RowState?, wasHeld: Bool, sequence: UInt64) throws -> RowState? {
    self.sequence = sequence
    lost.removeAll(keepingCapacity: true)
    encoded.removeAll()
    isOverLimit = false
    (isMigrated, isInsertedAfterAll) = (false, false)
    switch (old.flatMap { $0.isPresent ? $0 : nil }, exists) {
    case (nil, false):
      if isNotedAsInserted { passing.insert(keyWriter.bytes) }
      // A row that came without a note, by a migration, and went with one.
      guard isNotedAsGone, !passing.contains(keyWriter.bytes), old.map(isGoneAgain) ?? true
      else { return nil }
      return deleted(RowState(life: old?.nextLife ?? 1))
    case (nil, true):
      // Nothing was written to it, or its insert has a note of its own.
      if masks.allSatisfy({ $0 == 0 }) {
        if isNotedAsGone { standing.insert(keyWriter.bytes) }
        return nil
      }
      isMigrated = !isNotedAsInserted || standing.contains(keyWriter.bytes)
      return try inserted(life: old?.nextLife ?? 1)
    // Its end, if it went, has a note of its own.
    case (_?, _) where isNotedAsStanding: return nil
    // Written and then deleted: what is kept of the row includes what was written last.
    case (let alive?, false) where isGone && !isNotedAsGone:
      return try updated(alive, wasHeld: wasHeld)
    case (let alive?, false): return deleted(alive)
    case (let alive?, true):
      isInsertedAfterAll =
        isNotedAsInserted && alive.stamp == stamp && !standing.contains(keyWriter.bytes)
      return try updated(alive, wasHeld: wasHeld)
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
      shape.deletes == .updateWins ? alive.seenWrites(authors: authors) : VersionVector()
    if Planted.isActive(.coversUnseen) {
      for (id, last) in covered.sequences where id != transaction.ownID { covered[id] = last + 5 }
    }
    if shape.deletes == .updateWins { encoded.append(covered) }
    let change = rowChange(.delete, life: alive.life + 1, covered)
    begin(change, in: &state)
    settle(change, in: &state)
    return state
  }

  /// Merges the row's part of a local change.
  private func begin(_ change: RowChange, in state: inout RowState) {
    _ = state.begin(change, deletes: shape.deletes, authors: authors)
  }

  private func rowChange(
    _ kind: RowChange.Kind, life: UInt32, _ covered: VersionVector = VersionVector()
  ) -> RowChange {
    RowChange(kind: kind, life: life, stamp: stamp, sequence: sequence, covered: covered)
  }

  /// Decides, after a change's columns, whether the row is deleted.
  private func settle(_ change: RowChange, in state: inout RowState) {
    state.settle(shape.deletes, after: change, authors: authors)
  }

  private mutating func inserted(life: UInt32) throws -> RowState {
    begin(.insert, life: life)
    if shape.isPlain {
      for column in shape.columns.indices { encoded.append(value(column)) }
      return .inserted(life: life, stamp: stamp, columnCount: shape.rules.count)
    }
    var state = RowState(life: 0)
    let inserted = rowChange(.insert, life: life)
    begin(inserted, in: &state)
    for (index, column) in shape.columns.enumerated() {
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
      encoded.append(written)
      _ = try state.mergeColumn(
        UInt32(column.id), rule: column.rule, value: written, stamp: stamp,
        turn: Turn(sequence), authors: authors)
    }
    state.finishInsert(stamp, rules: shape.rules, authors: authors)
    settle(inserted, in: &state)
    return state
  }

  /// Brings a set to what its column says.
  ///
  /// - Parameter isNew: whether even no element is a change.
  private mutating func change(
    of index: Int, in state: inout RowState, isComplete: Bool, isNew: Bool = false
  ) throws -> SetChange? {
    let (column, written) = (shape.columns[index], value(index))
    let id = UInt32(column.id)
    let elements = try SetText.elements(of: written, in: transaction)
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
    let column = shape.columns[index]
    let id = UInt32(column.id)
    // Only a migration can have left something else than a text there.
    guard case .text(let bytes) = value(index).value else {
      return isNew ? TextChange.initial([]).bytes : nil
    }
    let written = Array(String(decoding: bytes, as: UTF8.self).utf8)
    let deltas =
      isNew ? [] : try transaction.splices(of: keyWriter.bytes, column.id, shape.id)
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
  private mutating func difference(
    of index: Int, _ column: TableShape.Column, in state: inout RowState, wasHeld: Bool
  ) throws -> Difference? {
    let id = UInt32(column.id)
    let written = value(index)
    switch column.rule.kind {
    case .lastWriter, .order:
      if state.stamp(of: id) == stamp { return nil }
    case .maximum, .minimum:
      if case .extreme(let value, _) = state.content(of: id), value == written.value { return nil }
    // What the first note of a key left, the second does not count again: of a row that was held
    // aside, of a sum that the column does not show, of what no operation holds of a set or a text.
    case .counter:
      if state.stamp(of: id) == stamp { return nil }
      return counterDifference(of: column, written, in: &state, wasHeld: wasHeld)
    case .set:
      if state.stamp(of: id) == stamp { return nil }
      return try change(of: index, in: &state, isComplete: !wasHeld).map { .change($0.bytes) }
    case .text:
      if state.stamp(of: id) == stamp { return nil }
      if Planted.isActive(.editBeaten), let last = state.stamp(of: id), last.author != 0,
        let shown = state.text(of: id)?.shown
      {
        lost.append((column.name, .text(shown)))
        return nil
      }
      return try textChange(of: index, in: &state, isBlind: wasHeld).map { .change($0) }
    }
    let wins = try state.mergeColumn(
      id, rule: column.rule, value: written, stamp: stamp, turn: Turn(sequence), authors: authors)
    if !wins, case .extreme(let value, _) = state.content(of: id) {
      lost.append((column.name, value))
    }
    return .value
  }

  private mutating func counterDifference(
    of column: TableShape.Column, _ written: WireValue, in state: inout RowState, wasHeld: Bool
  ) -> Difference? {
    let id = UInt32(column.id)
    let shown = wasHeld ? 0 : Int64(clamping: state.sum(of: id))
    let difference = (written.wide ?? 0) - Int128(shown)
    let left = Int64(clamping: state.sum(of: id) &+ difference)
    if wasHeld || written.wide != Int128(left) { lost.append((column.name, .integer(left))) }
    if difference == 0 { return nil }
    state.add(difference, to: id, stamp: stamp, authors: authors)
    return .number(difference)
  }

  private mutating func updated(_ alive: RowState, wasHeld: Bool) throws -> RowState? {
    var state = alive
    var differences: [(index: Int, difference: Difference)] = []
    var count = 0
    for (index, column) in shape.columns.enumerated() {
      changed[index] = false
      guard isMasked(index),
        let difference = try difference(of: index, column, in: &state, wasHeld: wasHeld)
      else { continue }
      changed[index] = true
      count += 1
      if case .value = difference { continue }
      differences.append((index, difference))
    }
    if count == 0 { return nil }
    let update = rowChange(.update, life: state.life)
    if shape.deletes.keepsContent { begin(update, in: &state) }
    encodeUpdate(&state, isWhole: count == shape.columns.count, differences)
    settle(update, in: &state)
    return state
  }

  /// A row whose every column was written, e.g. by REPLACE, travels as an insert into the same
  /// life: its stamp then covers them all, and no cell is needed.
  private mutating func encodeUpdate(
    _ state: inout RowState, isWhole: Bool, _ differences: [(index: Int, difference: Difference)]
  ) {
    begin(isWhole ? .insert : .update, life: state.life)
    if isWhole {
      state.finishInsert(stamp, rules: shape.rules, authors: authors)
    } else {
      for word in 0..<(shape.columns.count + 7) / 8 {
        var mask: UInt8 = 0
        for bit in 0..<min(8, shape.columns.count - word * 8) where changed[word * 8 + bit] {
          mask |= 1 << bit
        }
        encoded.append(byte: mask)
      }
    }
    for index in shape.columns.indices where changed[index] {
      switch differences.first(where: { $0.index == index })?.difference {
      case .number(let difference): encoded.append(wide: difference)
      case .change(let change): change.withUnsafeBytes { encoded.append(.blob, bytes: $0) }
      case .value, nil: encoded.append(value(index))
      }
    }
  }
}
