import Tern

extension MemoryState {
  /// Turns notes into one operation, or into the fragments of one.
  mutating func seal() throws -> Range<UInt64> {
    let noted = tables.compactMap { $0.notes.last?.milliseconds }
    guard let latest = noted.max() else { return 0..<0 }
    let time = lastTime.next(atMilliseconds: latest + correctionMilliseconds)
    let stamp = Stamp(time: time, author: 0)
    let first = progress[0].stored + 1
    var bodies: [[UInt8]] = []
    var body = ByteWriter()
    for index in tables.indices {
      var isOpen = false
      for (key, columns) in tables[index].takeNotes() {
        let change = try tables[index].seal(
          key, columns, stamp: stamp, sequence: first + UInt64(bodies.count), authors: authors)
        guard let change else { continue }
        if !isOpen { body.append(block: tables[index].shape.block) }
        isOpen = true
        body.append(raw: change)
        if body.count > SyncOperation.Limit.fragmentBytes {
          body.appendEndOfBlock()
          isOpen = false
          bodies.append(body.bytes)
          body.removeAll()
        }
      }
      if isOpen { body.appendEndOfBlock() }
    }
    // After a cut at the very end the last fragment is empty, and closes its group.
    if body.count > 0 || !bodies.isEmpty { bodies.append(body.bytes) }
    if !bodies.isEmpty { appendToLog(bodies, time: time) }
    return first..<progress[0].stored + 1
  }

  /// - Returns: whether there was something to tell.
  mutating func tellForks(nowMilliseconds: Int64) throws -> Bool {
    let (id, forks) = (authors.ids[0], replicaForks.map { ($0.replica, $0.sequence) })
    let sequences = Dictionary(forks, uniquingKeysWith: min)
    if sequences == toldForks[id] ?? [:] { return false }
    _ = try seal()
    toldForks[id] = sequences
    appendToLog(
      [ForkNotice(sequences).body], time: lastTime.next(atMilliseconds: nowMilliseconds))
    return true
  }

  private mutating func appendToLog(_ bodies: [[UInt8]], time: HybridTime) {
    for (index, body) in bodies.enumerated() {
      let envelope = SyncOperation.Envelope(
        replica: authors.ids[0], sequence: progress[0].stored + 1, time: time,
        seen: index == 0 ? announceSeen() : VersionVector(), schemaVersion: schemaVersion,
        continues: index < bodies.count - 1)
      progress[0].log.append(SyncOperation(envelope, body: body))
    }
    progress[0].merged = progress[0].stored
    lastTime = time
  }
}

extension MemoryRows {
  /// Every noted key once, in the order of its first note, with all the columns that were written.
  fileprivate mutating func takeNotes() -> [(key: [UInt8], columns: Set<Int>)] {
    var order: [[UInt8]] = []
    var columns: [[UInt8]: Set<Int>] = [:]
    for note in notes {
      if columns[note.key] == nil { order.append(note.key) }
      columns[note.key, default: large.removeValue(forKey: note.key) ?? []]
        .formUnion(note.columns)
    }
    notes = []
    return order.map { ($0, columns[$0]!) }
  }

  /// Brings a row's state to what the table holds.
  ///
  /// - Returns: the row's changes as they go into the body; `nil` when nothing differs.
  fileprivate mutating func seal(
    _ key: [UInt8], _ columns: Set<Int>, stamp: Stamp, sequence: UInt64, authors: Authors
  ) throws -> [UInt8]? {
    var row = row(key)
    let (gone, wasHeld) = (row.gone, row.wasHeld)
    (row.gone, row.wasHeld) = (nil, false)
    let change = LocalChange(
      shape: shape, key: key, stamp: stamp, sequence: sequence, authors: authors)
    var state = row.state ?? RowState(life: 0)
    var bytes = ByteWriter()
    if let shown = row.shown {
      let isChanged = try change.write(shown, columns, to: &state, &bytes, wasHeld: wasHeld)
      row.shown = shape.columns.indices.map { state.computed(UInt32($0)) ?? shown[$0] }
      guard isChanged else {
        rows[key] = row
        return nil
      }
      row.content = row.shown!
    } else {
      // A row that is quarantined is absent from the table without having been deleted.
      guard state.isShown, !row.isHeld else {
        rows[key] = row
        return nil
      }
      if shape.deletes.keepsContent, let gone {
        _ = try change.write(gone, columns, to: &state, &bytes, wasHeld: wasHeld)
        row.content = shape.columns.indices.map { state.computed(UInt32($0)) ?? gone[$0] }
      } else {
        row.content = defaults
      }
      change.delete(&state, &bytes)
    }
    if bytes.count > SyncOperation.Limit.rowBytes || state.lastLife > BodyLimit.life {
      large[key] = columns
      return nil
    }
    row.state = state
    rows[key] = row
    return bytes.bytes
  }
}

/// One row's local changes, on their way into a body.
private struct LocalChange {
  let shape: MemoryShape
  let key: [UInt8]
  let stamp: Stamp
  let sequence: UInt64
  let authors: Authors

  /// Writes columns, or the whole row where it is new.
  ///
  /// - Parameter wasHeld: the row was quarantined, so that the app wrote without its values.
  /// - Returns: whether anything differs.
  func write(
    _ values: [SQLiteValue], _ columns: Set<Int>, to state: inout RowState,
    _ bytes: inout ByteWriter,
    wasHeld: Bool
  ) throws -> Bool {
    let isNew = !state.isPresent
    let life = isNew ? state.nextLife : state.life
    let row = rowChange(isNew ? .insert : .update, life: life)
    if isNew { _ = state.begin(row, deletes: shape.deletes, authors: authors) }
    var written: [(index: Int, value: ByteWriter)] = []
    for index in shape.columns.indices where isNew || columns.contains(index) {
      let value = try state.write(
        values[index], to: UInt32(index), rule: shape.columns[index].rule, stamp, sequence,
        authors, isNew: isNew, wasHeld: wasHeld && !isNew)
      if let value { written.append((index, value)) }
    }
    if !isNew && written.isEmpty { return false }
    let isWhole = isNew || written.count == shape.columns.count
    bytes.append(row: isWhole ? .insert : .update, life: life)
    bytes.append(raw: key)
    if !isNew, shape.deletes.keepsContent {
      _ = state.begin(row, deletes: shape.deletes, authors: authors)
    }
    if isWhole {
      state.finishInsert(stamp, rules: shape.rules, authors: authors)
    } else {
      bytes.append(raw: mask(written.map(\.index)))
    }
    for entry in written { bytes.append(raw: entry.value.bytes) }
    state.settle(shape.deletes, after: row, authors: authors)
    return true
  }

  func delete(_ state: inout RowState, _ bytes: inout ByteWriter) {
    let life = state.life + 1
    bytes.append(row: .delete, life: life)
    bytes.append(raw: key)
    let covered =
      shape.deletes == .updateWins ? state.seenWrites(authors: authors) : VersionVector()
    if shape.deletes == .updateWins { bytes.append(covered) }
    let row = rowChange(.delete, life: life, covered)
    _ = state.begin(row, deletes: shape.deletes, authors: authors)
    state.settle(shape.deletes, after: row, authors: authors)
  }

  private func rowChange(
    _ kind: RowChange.Kind, life: UInt32, _ covered: VersionVector = VersionVector()
  ) -> RowChange {
    RowChange(kind: kind, life: life, stamp: stamp, sequence: sequence, covered: covered)
  }

  private func mask(_ indices: [Int]) -> [UInt8] {
    var mask = [UInt8](repeating: 0, count: (shape.columns.count + 7) / 8)
    for index in indices { mask[index / 8] |= 1 << UInt8(index % 8) }
    return mask
  }
}

extension RowState {
  /// Writes one column of a local change: the value, or the difference to what it showed.
  ///
  /// - Returns: what travels; `nil` when the column stands as it stood.
  fileprivate mutating func write(
    _ value: SQLiteValue, to column: UInt32, rule: MergeRule, _ stamp: Stamp, _ sequence: UInt64,
    _ authors: Authors, isNew: Bool, wasHeld: Bool
  ) throws -> ByteWriter? {
    var writer = ByteWriter()
    if case .integer(let number) = value, rule == .counter {
      let shown = wasHeld ? 0 : Int64(clamping: sum(of: column))
      let difference = Int128(number) - Int128(shown)
      if difference == 0, !isNew { return nil }
      writer.append(wide: difference)
    } else if rule == .set {
      let change = elements(of: column)
        .change(to: try MemoryWriter.elements(value), isComplete: !wasHeld)
      if change == nil, !isNew { return nil }
      (change ?? SetChange(added: [])).bytes.withUnsafeBytes { writer.append(.blob, bytes: $0) }
    } else if rule == .text, case .text(let bytes) = value {
      // Merges the change as well.
      let change = try write(
        TextWrite(bytes, isNew: isNew), to: column, stamp: stamp, sequence: sequence,
        authors: authors)
      guard let change else { return nil }
      change.bytes.withUnsafeBytes { writer.append(.blob, bytes: $0) }
      return writer
    } else {
      if !isNew, case .extreme(let old, _) = content(of: column), old == value { return nil }
      writer.append(value)
    }
    try writer.bytes.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      _ = try mergeColumn(
        column, rule: rule, value: reader.value("column"), stamp: stamp, turn: Turn(sequence),
        authors: authors)
    }
    return writer
  }
}
