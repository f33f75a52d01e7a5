import GRDB
import TernCore
import TernDatabase

/// Merges the rows of one table: reads a row's state, merges the change, writes both back.
final class RowMerger {
  let writer: TableWriter
  let transaction: StoreTransaction
  let shape: TableShape
  private let isPlain: Bool
  private let read: FastStatement
  private let insert: FastStatement
  private let put: FastStatement
  private var insertMany: FastStatement?
  private var new = NewRows()
  /// Rows that one statement writes.
  private let batchRows: Int
  /// Of the operation that is merged.
  private var turn = Turn(0)
  /// What of the row changes in its table.
  var columns: [Int] = []
  /// Columns of the row that its author and another wrote at once, and of which one lost.
  private var met: [MetColumn] = []
  var values: [ProjectedValue] = []
  /// By packed key, rows of which something was written here that no operation holds.
  let large: [[UInt8]: LargeRow]

  init(_ transaction: StoreTransaction, _ sql: TableSQL, hasHeld: Bool) throws {
    self.transaction = transaction
    shape = sql.shape
    isPlain = sql.isPlain
    writer = try TableWriter(transaction, sql, hasHeld: hasHeld)
    read = try transaction.statement(sql.readState)
    insert = try transaction.statement(sql.insertState)
    put = try transaction.statement(sql.putState)
    large = try LargeRow.all(of: sql.shape.id, in: transaction)
    batchRows = !writer.isPlain && large.isEmpty ? sql.batchRows : 1
  }

  /// What the rows of a block have in common.
  struct Context {
    let stamp: Stamp
    let turn: Turn
    let mapping: BlockMapping
    let concurrency: Concurrency
    /// The block is merged with the rest of its group, so that ``finish(_:)`` follows its last row.
    var isInGroup = true
  }

  /// - Parameter row: may be another one afterwards, to be read into.
  func merge(_ row: inout BodyRow, _ context: Context) throws {
    turn = context.turn
    if isPlain, row.kind == .insert, context.isInGroup, batchRows > 1 {
      let isFirst = new.isFirst(row, context.stamp)
      if isFirst, context.mapping.order != nil {
        new.take(&row)
        if new.count == batchRows { try mergeNew(context) }
        return
      }
    }
    try finish(context)
    try mergeOne(row, context)
  }

  /// Merges what is left of a block.
  func finish(_ context: Context) throws {
    if new.count == 0 { return }
    for index in 0..<new.count { try mergeOne(new.rows[index], context) }
    new.removeAll()
  }

  private func mergeOne(_ row: BodyRow, _ context: Context) throws {
    // Most rows are new: inserting tells so without a search before it.
    if row.kind == .insert, isPlain, large.isEmpty, let order = context.mapping.order {
      bindKey(row, to: insert)
      let state = inserted(row, context)
      if try transaction.states.run(insert, state, keyCount: row.key.count) {
        return try writer.writeAll(row, order: order)
      }
    }
    try mergeSlowly(
      row, try state(of: row), context.stamp, context.mapping, context.concurrency)
  }

  private func mergeNew(_ context: Context) throws {
    let order = context.mapping.order!
    let statement = try insertMany ?? transaction.statement(writer.sql.insertStates)
    insertMany = statement
    let keyCount = shape.keyColumns.count
    for index in 0..<new.count {
      let offset = Int32(index * (keyCount + 5))
      bindKey(new.rows[index], to: statement, behind: offset)
      statement.bind(
        offset + Int32(keyCount), life: new.rows[index].life, stamp: context.stamp,
        covered: UInt32(shape.rules.count), cells: .init(start: nil, count: 0))
    }
    try statement.run()
    if statement.changeCount == new.count {
      try writer.writeAll(new.rows[..<new.count], order: order)
    } else {
      for index in 0..<new.count {
        let row = new.rows[index]
        let old = try state(of: row)
        // The group has not brought it before, so a state like this is the one just written.
        if old == inserted(row, context) {
          try writer.writeAll(row, order: order)
        } else {
          try mergeSlowly(row, old, context.stamp, context.mapping, context.concurrency)
        }
      }
    }
    new.removeAll()
  }

  private func inserted(_ row: BodyRow, _ context: Context) -> RowState {
    .inserted(life: row.life, stamp: context.stamp, columnCount: shape.rules.count)
  }

  private func state(of row: BodyRow) throws -> RowState? {
    bindKey(row, to: read)
    return try read.state()
  }

  private func bindKey(_ row: BodyRow, to statement: FastStatement, behind offset: Int32 = 0) {
    for (index, value) in row.key.enumerated() {
      statement.bind(offset + Int32(index + 1), value)
    }
  }

  // MARK: - Every other case

  private func mergeSlowly(
    _ row: BodyRow, _ old: RowState?, _ stamp: Stamp, _ mapping: BlockMapping,
    _ concurrency: Concurrency
  ) throws {
    var state = old ?? RowState(life: 0)
    let isInsert = row.kind == .insert && !mapping.isReplay
    if mapping.isReplay, old == nil || row.kind == .delete { return }
    var metInsert: (stamp: Stamp, isConcurrent: Bool)?
    if isInsert, let old, old.isComplete, old.life == row.life {
      metInsert = (old.stamp, try concurrency.count(.sameKey, old.stamp, against: stamp))
    }
    if let old, old.life != row.life, !shape.deletes.keepsContent {
      try countLives(row, old, stamp, mapping, concurrency)
    }
    let change = RowChange(
      kind: isInsert ? .insert : row.kind == .delete ? .delete : .update, life: row.life,
      stamp: stamp, sequence: turn.sequence, covered: row.covered)
    let effect = state.begin(change, deletes: shape.deletes, authors: transaction.authors)
    if effect == .beaten { return }
    try mergeColumns(row, into: &state, stamp, mapping, concurrency, metInsert: metInsert)
    if isInsert { state.finishInsert(stamp, rules: shape.rules, authors: transaction.authors) }
    state.settle(shape.deletes, after: change, authors: transaction.authors)
    if !met.isEmpty { try keepLosers(among: met, row, state, stamp, concurrency.losses) }
    guard state != old else { return }
    // What comes after it may come before it now.
    try transaction.held.wake(shape.id, row.packedKey)
    if shape.deletes.keepsContent { try countKept(row, old, state, stamp, mapping, concurrency) }
    bindKey(row, to: put)
    try transaction.states.run(put, state, keyCount: row.key.count)
    try project(row, effect, state, old)
  }

  private func mergeColumns(
    _ row: BodyRow, into state: inout RowState, _ stamp: Stamp, _ mapping: BlockMapping,
    _ concurrency: Concurrency, metInsert: (stamp: Stamp, isConcurrent: Bool)?
  ) throws {
    met.removeAll(keepingCapacity: true)
    columns.removeAll(keepingCapacity: true)
    values.removeAll(keepingCapacity: true)
    for (source, target) in mapping.targets.enumerated() where source < row.values.count {
      guard let target, row.isCarried[source] else { continue }
      let column = shape.columns[target]
      let id = UInt32(column.id)
      // Two inserts that met count once, as a row.
      if let current = state.stamp(of: id) {
        let isInsert = current == metInsert?.stamp
        let isConcurrent =
          try isInsert
          ? metInsert!.isConcurrent : concurrency.count(column.rule, current, against: stamp)
        if isConcurrent, column.rule.isLastWriter {
          met.append(
            MetColumn(target: target, source: source, standing: current, isInsert: isInsert))
        }
      }
      guard
        try state.mergeColumn(
          id, rule: column.rule, value: row.values[source], stamp: stamp,
          turn: turn, authors: transaction.authors)
      else { continue }
      columns.append(target)
      values.append(projected(column, state, row.values[source]))
    }
  }

  private func projected(_ column: TableShape.Column, _ state: RowState, _ value: WireValue)
    -> ProjectedValue
  {
    switch column.rule.kind {
    case .counter, .set, .text: .computed(state.computed(UInt32(column.id)) ?? .null)
    case .lastWriter, .order, .maximum, .minimum: .inPlace(value)
    }
  }

  private func project(
    _ row: BodyRow, _ effect: RowEffect, _ state: RowState, _ old: RowState?
  ) throws {
    let key = row.packedKey
    try liftVeil(of: key)
    if !large.isEmpty, try leaveOutLarge(key, effect, state, old) { return }
    switch effect {
    case .ends: try writer.removeAndForget(key)
    case .begins:
      let content = writer.named(columns, values)
      if let old, try old.isAlive || shape.deletes.keepsContent || writer.isRemovalRefused(key),
        try !writer.removeAndForget(key)
      {
        return try writer.holdRefused(key, content: content)
      }
      if let reason = reason(state) { return try writer.hold(key, reason, adding: content) }
      try writer.write(key, content: content)
    case .stays where shape.deletes.keepsContent:
      let stands = old?.isDeleted == state.isDeleted && old?.isComplete == state.isComplete
      if stands, columns.isEmpty, try writer.aside(key) == nil { return }
      try writer.update(
        key, columns: columns, values: values, aside: reason(state), isWhole: row.kind == .insert)
    case .stays where state.isAlive && (!columns.isEmpty || writer.hasHeld):
      if columns.isEmpty, try !transaction.held.holds(shape.id, key) { return }
      try writer.update(
        key, columns: columns, values: values, aside: reason(state), isWhole: row.kind == .insert)
    // The row of a life that is new here may stand all the same: a migration put it there, and its
    // author's too.
    case .stays where !state.isAlive && state.life != old?.life: try writer.removeAndForget(key)
    case .stays, .beaten: break
    }
  }

  /// A column that comes is written as the state has it, and those beside it in its reference.
  private func liftVeil(of key: UnsafeRawBufferPointer) throws {
    guard let veil = try writer.veil(of: key) else { return }
    let names = Set(columns.map { shape.columns[$0].name })
    if veil.columns.contains(where: { names.contains($0.name) }) {
      try writer.veils.lift(veil, from: Array(key))
    }
  }

  func reason(_ state: RowState) -> HeldReason? {
    if state.isDeleted { return .deleted }
    return state.isComplete ? nil : .incomplete
  }

  private func countKept(
    _ row: BodyRow, _ old: RowState?, _ state: RowState, _ stamp: Stamp, _ mapping: BlockMapping,
    _ concurrency: Concurrency
  ) throws {
    guard let old, old.life == state.life else { return }
    if row.kind == .delete ? old.isPresent && state.isPresent : old.isDeleted && state.isPresent {
      concurrency.count(.updateWins)
    } else if let deletion = old.presence?.deletion, old.isDeleted, row.kind != .delete {
      if try concurrency.count(.deleteWins, deletion, against: stamp) {
        try keepLate(row, mapping, stamp, deletion: deletion, concurrency.losses)
      }
    } else if row.kind == .delete, old.isPresent, state.isDeleted {
      try countDelete(row, of: old, stamp, concurrency)
    }
  }

  private func countLives(
    _ row: BodyRow, _ old: RowState, _ stamp: Stamp, _ mapping: BlockMapping,
    _ concurrency: Concurrency
  ) throws {
    if row.kind == .delete, old.isAlive, old.life + 1 == row.life {
      try countDelete(row, of: old, stamp, concurrency)
    } else if row.kind != .delete, !old.isAlive, row.life + 1 == old.life {
      if try concurrency.count(.deleteWins, old.stamp, against: stamp) {
        try keepLate(row, mapping, stamp, deletion: old.stamp, concurrency.losses)
      }
    }
  }

  /// A delete came, perhaps without knowing of writes to the row.
  private func countDelete(
    _ row: BodyRow, of old: RowState, _ stamp: Stamp, _ concurrency: Concurrency
  ) throws {
    let unseen = try shape.columns.compactMap { column in
      old.stamp(of: UInt32(column.id)).map { (name: column.name, stamp: $0) }
    }.filter { try concurrency.isConcurrent($0.stamp, with: stamp) }
    guard let loser = unseen.map(\.stamp).max(by: { transaction.authors.isLess($0, $1) }) else {
      return
    }
    concurrency.count(.deleteWins)
    try keepDeleted(row, stamp, loser: loser, unseen: unseen.map(\.name), concurrency.losses)
  }
}
