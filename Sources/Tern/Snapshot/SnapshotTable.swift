import TernCore
import TernDatabase

/// Loads a snapshot's rows into one table.
struct SnapshotTable {
  private let transaction: StoreTransaction
  private let writer: TableWriter
  private let shape: TableShape
  private let hadStates: Bool
  private let isRepairing: Bool
  private let join: SnapshotJoin?
  private let check: SnapshotCheck
  private let locals: LocalColumns
  /// For each column that ever was in the table its place in the block.
  private let sources: [UInt32?]
  private let kinds: [MergeRule.Kind]
  /// For each of the shape's columns its place in the block.
  private let places: [Int?]
  private let readOld: FastStatement
  private let put: FastStatement
  /// By packed key, rows of which something was written here that no operation holds.
  private let large: [[UInt8]: LargeRow]

  init(
    _ transaction: StoreTransaction, writer: TableWriter, _ block: BodyBlock, hadStates: Bool,
    isRepairing: Bool, join: SnapshotJoin?, check: SnapshotCheck, locals: LocalColumns
  ) throws {
    self.transaction = transaction
    self.writer = writer
    self.hadStates = hadStates
    self.isRepairing = isRepairing
    self.join = join
    self.check = check
    self.locals = locals
    let sql = writer.sql
    shape = sql.shape
    let mapping = shape.mapping(of: block)
    let places = shape.columns.indices.map { column in
      mapping.targets.firstIndex { $0 == column }
    }
    self.places = places
    var sources: [UInt32?] = Array(repeating: nil, count: shape.rules.count)
    for (column, place) in zip(shape.columns, places) {
      sources[column.id] = place.map { UInt32($0) }
    }
    self.sources = sources
    kinds = shape.rules.map(\.kind)
    readOld = try transaction.statement(sql.readState)
    put = try transaction.statement(sql.putState)
    large = try LargeRow.all(of: shape.id, in: transaction)
  }

  /// - Parameter number: an author's index here.
  func take(_ row: SnapshotRow, number: (UInt32) throws(WireError) -> UInt32) throws {
    guard shape.holds(row.key) else { throw WireError(.malformed, "key") }
    let theirs = try row.state.renumbered(authors: number, columns: sources, kinds: kinds)
    let old = try hadStates ? oldState(row.key) : nil
    if let join, let old { return try take(row, theirs, join, with: old) }
    if let old, old != theirs {
      check.hold(
        theirs, against: old, of: shape, row.key.compactMap(\.value),
        knows: { sources[$0.id] != nil }, transaction.authors)
    }
    try save(theirs, of: row)
    if old == theirs, try !isRepairing || shows(row, theirs) { return }
    try show(row, content(of: row, theirs), theirs, old)
  }

  private func take(
    _ row: SnapshotRow, _ theirs: RowState, _ join: SnapshotJoin, with mine: RowState
  ) throws {
    if mine == theirs { return }
    let state = try join.joined(mine, with: theirs, of: shape, transaction.authors)
    let shown = try shownOrHeld(row.packedKey)
    let content = content(of: row, theirs)
    try join.keepLosers(
      .init(state: mine, content: shown), .init(state: theirs, content: content), state, shape,
      row.packedKey, transaction.authors)
    if mine == state { return }
    try save(state, of: row)
    // A migration or a tool took the row, and nobody here knows its values any more.
    if mine.isShown, shown.isEmpty, mine.life == state.life { return }
    try show(row, joined(shown, content, theirs, state), state, mine)
  }

  private func save(_ state: RowState, of row: SnapshotRow) throws {
    for (index, value) in row.key.enumerated() { put.bind(Int32(index + 1), value) }
    try transaction.states.run(put, state, keyCount: row.key.count)
  }

  private func show(
    _ row: SnapshotRow, _ content: [String: SQLiteValue], _ state: RowState, _ old: RowState?
  ) throws {
    if let veil = try writer.veil(of: row.packedKey) {
      try writer.veils.lift(veil, from: Array(row.packedKey))
    }
    if !large.isEmpty, let large = large[Array(row.packedKey)] {
      return try leave(large, row, content, state, old)
    }
    try project(row, content, state, old)
  }

  /// What is too large to travel was written here meanwhile, and stands for itself; the rest of its
  /// row is as the snapshot has it.
  private func leave(
    _ large: LargeRow, _ row: SnapshotRow, _ content: [String: SQLiteValue], _ state: RowState,
    _ old: RowState?
  ) throws {
    guard state.isShown, let shown = try writer.read(row.packedKey) else { return }
    var content = content
    for column in shape.columns where content[column.name] != nil && large.columns.contains(column)
    {
      content[column.name] = try large.value(
        of: column, showing: shown[column.name] ?? .null, from: old?.ifPresent, to: state,
        in: transaction)
    }
    if !content.isEmpty { try writer.write(row.packedKey, content: content) }
  }

  private func oldState(_ key: [WireValue]) throws -> RowState? {
    for (index, value) in key.enumerated() { readOld.bind(Int32(index + 1), value) }
    defer { readOld.reset() }
    guard try readOld.step() else { return nil }
    // A state that is not marked came with this snapshot.
    let life = readOld.int64(0)
    guard join != nil || life < 0 else { throw WireError(.malformed, "row twice") }
    do {
      var state = try readOld.state(from: 0)
      state?.life = UInt32(truncatingIfNeeded: abs(life))
      return state
    } catch is WireError {
      // Damaged, and so another one than any that a snapshot has.
      return RowState(life: 0)
    }
  }

  private func project(
    _ row: SnapshotRow, _ content: [String: SQLiteValue], _ state: RowState, _ old: RowState?
  ) throws {
    let key = row.packedKey
    guard state.isAlive else {
      if old != nil { try locals.remove(key, writer) }
      return
    }
    var content = content
    if try old != nil || writer.isRemovalRefused(key) {
      // A column that nobody wrote in this life shows its default again.
      let hasDefaults = content.count < shape.columns.count
      let local = try localContent(key)
      content.merge(local) { synced, _ in synced }
      try writer.forget(key)
      if hasDefaults, try !writer.remove(key) {
        return try writer.holdRefused(key, content: content)
      }
    }
    if state.isShown {
      try writer.write(key, content: content)
    } else {
      try writer.hold(key, state.isDeleted ? .deleted : .incomplete, adding: content)
    }
  }

  /// The columns that were written in this life.
  private func content(of row: SnapshotRow, _ state: RowState) -> [String: SQLiteValue] {
    var content: [String: SQLiteValue] = [:]
    for (column, place) in zip(shape.columns, places)
    where state.stamp(of: UInt32(column.id)) != nil {
      let value = state.computed(UInt32(column.id)) ?? place.flatMap { row.values[$0] }?.value
      content[column.name] = value ?? .null
    }
    return content
  }

  /// The same of a joined row, whose last writes are of either.
  private func joined(
    _ mine: [String: SQLiteValue], _ content: [String: SQLiteValue], _ theirs: RowState,
    _ state: RowState
  ) -> [String: SQLiteValue] {
    var joined: [String: SQLiteValue] = [:]
    for column in shape.columns {
      let id = UInt32(column.id)
      guard let stamp = state.stamp(of: id) else { continue }
      let isTheirs = theirs.life == state.life && theirs.stamp(of: id) == stamp
      joined[column.name] =
        state.computed(id) ?? (isTheirs ? content : mine)[column.name] ?? .null
    }
    return joined
  }

  private func shownOrHeld(_ key: UnsafeRawBufferPointer) throws -> [String: SQLiteValue] {
    try writer.standing(key) ?? [:]
  }

  /// Whether the table, or what is quarantined, has what the state says: something may have written
  /// past Tern.
  private func shows(_ row: SnapshotRow, _ state: RowState) throws -> Bool {
    let shown = try writer.read(row.packedKey)
    guard state.isShown else { return shown == nil }
    guard let here = try shown ?? writer.aside(row.packedKey) else { return false }
    return try content(of: row, state).allSatisfy { name, value in
      guard here[name] != value else { return true }
      return try shown != nil && writer.shows(value, in: name, of: row.packedKey)
    }
  }

  /// What stands in the columns that do not travel, wherever the row is.
  private func localContent(_ key: UnsafeRawBufferPointer) throws -> [String: SQLiteValue] {
    if shape.localColumns.isEmpty { return [:] }
    let content = try shownOrHeld(key)
    let local = Set(shape.localColumns)
    return content.filter { local.contains($0.key) }
  }
}
