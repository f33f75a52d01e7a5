import GRDB
import TernCore
import TernDatabase

/// Projects rows of one table: writes what the state says into the app's table, or quarantines the
/// row where the table refuses it.
final class TableWriter {
  let transaction: StoreTransaction
  let sql: TableSQL
  /// Keys that were written, and keys that went, where foreign keys ask for them.
  var written: [[UInt8]] = []
  private(set) var removed: [[UInt8]] = []
  private var hasBeenTouched = false
  private(set) var hasChanged = false
  /// Rows that were quarantined, and that a settlement wrote and has not told of.
  private var shown: Set<[UInt8]> = []
  var hasHeld: Bool
  /// Off while a snapshot is loaded, whose orphans are looked for afterwards, all at once.
  var recordsKeys = true
  /// While what a log has is merged on top of a snapshot.
  var locals: LocalColumns?
  let isReferring: Bool
  let isReferredTo: Bool
  /// By rows that do not sync.
  private let hasLocalChildren: Bool
  private let hasSets: Bool
  /// Whether rows are written by statements without a conflict clause, which would override those
  /// of the app's triggers and of the tables that these write to.
  let isPlain: Bool
  private let upsertAll: FastStatement
  private var upsertAllRows: FastStatement?
  /// From its first use on: to prepare it costs as much as to merge several rows, and few delete.
  private var deleteRow: FastStatement?
  private let settleKeyRow: FastStatement?
  private var updates: [[Int]: FastStatement] = [:]
  private var puts: [WrittenColumns: FastStatement] = [:]
  /// From its first use on.
  var scratch: UniqueScratch?
  /// What SQLite said of the write that the table refused last.
  private(set) var refusal: String?

  init(_ transaction: StoreTransaction, _ sql: TableSQL, hasHeld: Bool) throws {
    self.transaction = transaction
    self.sql = sql
    self.hasHeld = hasHeld
    hasSets = !sql.note.sets.isEmpty
    isReferring = !sql.shape.foreignKeys.isEmpty
    isReferredTo = transaction.sql.contains {
      $0.shape.foreignKeys.contains { $0.parent.folded == sql.shape.name.folded }
    }
    hasLocalChildren = transaction.localReferences.isParent(sql.shape.id)
    isPlain =
      try transaction.triggers.met.decidesConflicts
      && !AppTriggers.declaresConflicts(sql.shape.name, transaction.db)
    upsertAll = try transaction.triggers.statement(sql.upsertAll)
    settleKeyRow = try sql.settleKey.map { try transaction.triggers.statement($0) }
  }

  /// Runs a statement that writes the row with this key; not `nil` when the table refused it.
  func run(_ statement: FastStatement, _ key: some ContiguousBytesLike) throws -> HeldReason? {
    let refusal = try runUnlessRefused(statement)
    if refusal == nil { transaction.triggers.hasWrittenRows = true }
    return refusal.map { $0 == .unique ? .unique : .constraint }
  }

  /// Again where a set may have been counted, for nearly none is that large; and without the app's
  /// triggers where one of these may have failed, for they keep no row out.
  private func runUnlessRefused(_ statement: FastStatement) throws -> FastStatement.Refusal? {
    func attempt() throws -> FastStatement.Refusal? {
      let found = try statement.runUnlessRefused()
      if found != nil { refusal = transaction.db.lastErrorMessage }
      return found
    }
    var found = try attempt()
    if found == .other, hasSets { found = try transaction.notes.withoutCounting(sql, attempt) }
    if found == nil || transaction.triggers.met.harmless.isEmpty { return found }
    if Planted.isActive(.mirrorHoldsRow) { return found }
    let error = refusal ?? ""
    let isOwn =
      error.contains(" failed: \(sql.shape.name).")
      || sql.shape.uniques.contains { error.contains(" failed: index '\($0.name)'") }
    if isOwn, !transaction.triggers.met.areWriting(to: sql.shape.name) { return found }
    let again = try transaction.triggers.withoutTriggers { try statement.runUnlessRefused() }
    if again == nil { try transaction.failedTriggers.note(on: sql.shape.name, error) }
    return again
  }

  func noteWritten(_ key: some ContiguousBytesLike) throws {
    tell(key)
    try noteTouched(key)
  }

  private func noteTouched(_ key: some ContiguousBytesLike) throws {
    hasBeenTouched = true
    try settleKey(key)
    try transaction.held.wake(sql.shape.id, key)
    if isReferring, recordsKeys { key.withBytes { written.append(Array($0)) } }
  }

  /// Has a row that was written as 1.0 show 1, as it does where it came by sync. A table that
  /// refuses that keeps what it has.
  func settleKey(_ key: some ContiguousBytesLike) throws {
    guard let settleKeyRow else { return }
    _ = try bind(key, to: settleKeyRow)
    _ = try run(settleKeyRow, key)
  }

  private func tell(_ key: some ContiguousBytesLike) {
    hasChanged = true
    transaction.recorder?.note(sql.shape.id, key, isLocal: false)
  }

  /// Tells of the rows of ``show(_:content:folded:)`` that have not gone again.
  func tellShown() {
    for key in shown { tell(key) }
    shown.removeAll()
  }

  /// Has the settlement look at the rows that refer to one that went, or changed, before.
  func noteGone(_ key: [UInt8]) {
    hasBeenTouched = true
    removed.append(key)
  }

  /// What was written and removed since this was last asked, and whether anything was.
  func takeTouched() -> (written: [[UInt8]], removed: [[UInt8]], isAny: Bool) {
    defer { (written, removed, hasBeenTouched) = ([], [], false) }
    return (written, removed, hasBeenTouched)
  }

  // MARK: - Whole rows

  /// Writes every column that travels, values in the table's order.
  func writeAll(_ row: BodyRow, order: [Int]) throws {
    func content() -> [String: SQLiteValue] {
      var content: [String: SQLiteValue] = [:]
      for (column, source) in zip(sql.shape.columns, order) {
        content[column.name] = row.values[source].value
      }
      return content
    }
    // A migration brought the row before, and all of it is written.
    if hasHeld { try veils.drop(row.packedKey) }
    if try isPlain || locals?.hasSome(for: row.packedKey, sql.shape) ?? false
      || isRemovalRefused(row.packedKey)
    {
      try write(row.packedKey, content: content())
      return
    }
    for (index, key) in row.key.enumerated() { upsertAll.bind(Int32(index + 1), key) }
    for (index, source) in order.enumerated() {
      upsertAll.bind(Int32(row.key.count + index + 1), row.values[source])
    }
    guard let reason = try run(upsertAll, row.packedKey) else {
      return try noteWritten(row.packedKey)
    }
    try hold(row.packedKey, reason, adding: content())
  }

  /// The same for ``TableSQL/batchRows`` rows at once, or for each where the table refuses one.
  func writeAll(_ rows: ArraySlice<BodyRow>, order: [Int]) throws {
    if try locals != nil || isPlain
      || hasHeld
        && rows.contains(where: {
          try isRemovalRefused($0.packedKey) || veil(of: $0.packedKey) != nil
        })
    {
      for row in rows { try writeAll(row, order: order) }
      return
    }
    let statement = try upsertAllRows ?? transaction.triggers.statement(sql.upsertAllRows)
    upsertAllRows = statement
    var parameter: Int32 = 1
    for row in rows {
      for key in row.key {
        statement.bind(parameter, key)
        parameter += 1
      }
      for source in order {
        statement.bind(parameter, row.values[source])
        parameter += 1
      }
    }
    // It undoes itself whole.
    if try statement.runUnlessRefused() != nil {
      for row in rows { try writeAll(row, order: order) }
      return
    }
    transaction.triggers.hasWrittenRows = true
    for row in rows { try noteWritten(row.packedKey) }
  }

  /// Writes the given columns of a row that may be new; the others stand at their default.
  ///
  /// - Returns: why the row is quarantined instead, if it is.
  @discardableResult
  func write(_ key: some ContiguousBytesLike, content: [String: SQLiteValue]) throws -> HeldReason?
  {
    try write(key, withLocals(content, of: key), .upsert)
  }

  /// Writes a row that is quarantined, and leaves it there where the table refuses it: it
  /// is for the caller to see to what is held, and to ``tellShown()``.
  ///
  /// - Parameter winner: the row that it points to.
  func show(_ key: [UInt8], content: [String: SQLiteValue], folded winner: [UInt8]? = nil) throws
    -> (reason: HeldReason, content: [String: SQLiteValue])?
  {
    let content = withLocals(content, of: key)
    let written =
      try winner.map { try sql.shape.pointing(to: $0).merging(content) { $1 } } ?? content
    if let reason = try put(key, written, .upsert) { return (reason, content) }
    shown.insert(key)
    try noteTouched(key)
    return nil
  }

  private func withLocals(_ content: [String: SQLiteValue], of key: some ContiguousBytesLike)
    -> [String: SQLiteValue]
  {
    let local = locals?.giveBack(to: key, sql.shape) ?? [:]
    return local.isEmpty ? content : local.merging(content) { $1 }
  }

  /// Changes the given columns of a row that is shown. An UPSERT would be refused where the others
  /// have no default: SQLite looks at the new row before it looks for the old one.
  func change(_ key: some ContiguousBytesLike, content: [String: SQLiteValue]) throws {
    _ = try write(key, content, .update)
  }

  enum Write { case insert, upsert, update }

  private func write(
    _ key: some ContiguousBytesLike, _ content: [String: SQLiteValue], _ write: Write
  ) throws -> HeldReason? {
    if let reason = try put(key, content, write) {
      try hold(key, reason, adding: content)
      return reason
    }
    try noteWritten(key)
    return nil
  }

  func put(
    _ key: some ContiguousBytesLike, _ content: [String: SQLiteValue], _ write: Write
  ) throws -> HeldReason? {
    if try isRemovalRefused(key) { return .removal }
    if isPlain, case .upsert = write {
      let isThere = try read(key) != nil
      if isThere, content.isEmpty { return nil }
      return try put(key, content, isThere ? .update : .insert)
    }
    let names = content.keys.sorted()
    let columns = WrittenColumns(write: write, names: names)
    if puts[columns] == nil {
      let text =
        switch write {
        case .insert: sql.insert(names)
        case .upsert: sql.upsert(names)
        case .update: sql.update(names, isPlain: isPlain)
        }
      puts[columns] = try transaction.triggers.statement(text)
    }
    let statement = puts[columns]!
    let keyCount = try bind(key, to: statement)
    for (index, name) in names.enumerated() {
      statement.bind(Int32(keyCount + index + 1), copy: content[name]!)
    }
    return try run(statement, key)
  }

  private struct WrittenColumns: Hashable {
    let write: Write
    let names: [String]
  }

  // MARK: - Columns

  /// Changes columns, by their index in the shape, of a row that is shown, quarantined or deleted.
  ///
  /// - Parameter reason: why it is not to be shown, or `nil`.
  func update(
    _ key: some ContiguousBytesLike, columns: [Int], values: [ProjectedValue],
    aside reason: HeldReason?, isWhole: Bool
  ) throws {
    if var aside = try aside(key) {
      // What is too large to travel was written here meanwhile, and stands for itself.
      if reason == nil, try !isRemovalRefused(key), let shown = try read(key) { aside = shown }
      let content = aside.merging(named(columns, values)) { $1 }
      try forget(key)
      if let reason { return try hold(key, reason, adding: content) }
      try write(key, content: content)
      return
    }
    if let reason { return try hold(key, reason, adding: named(columns, values)) }
    // All of it may be left out, as of a row that is too large to travel.
    if columns.isEmpty { return }
    let statement = try updateStatement(columns)
    let keyCount = try bind(key, to: statement)
    for (index, value) in values.enumerated() {
      value.bind(to: statement, Int32(keyCount + index + 1))
    }
    if let reason = try run(statement, key) {
      return try hold(key, reason, adding: named(columns, values))
    }
    try noteWritten(key)
    // A migration may have removed the row here without a word; a whole one brings it back.
    if isWhole, statement.changeCount == 0 { try write(key, content: named(columns, values)) }
  }

  private func updateStatement(_ columns: [Int]) throws -> FastStatement {
    if let statement = updates[columns] { return statement }
    let statement = try transaction.triggers.statement(
      sql.update(columns.map { sql.shape.columns[$0].name }, isPlain: isPlain))
    updates[columns] = statement
    return statement
  }

  func named(_ columns: [Int], _ values: [ProjectedValue]) -> [String: SQLiteValue] {
    Dictionary(
      uniqueKeysWithValues: zip(columns.map { sql.shape.columns[$0].name }, values.map(\.value)))
  }

  // MARK: - Removing and holding

  /// Takes a row out of its table.
  ///
  /// - Returns: `false` where the table refuses that. The row is quarantined as one that is to go.
  @discardableResult
  func remove(_ key: some ContiguousBytesLike) throws -> Bool {
    try locals?.noteRemoved(key, self)
    if try take(key) { return true }
    try holdRefused(key, content: standing(key) ?? [:])
    return false
  }

  private func take(_ key: some ContiguousBytesLike) throws -> Bool {
    let delete = try deleteRow ?? transaction.triggers.statement(sql.delete)
    deleteRow = delete
    _ = try bind(key, to: delete)
    if try run(delete, key) != nil { return false }
    // Also of one that was quarantined before, whose delete has come.
    if hasLocalChildren { try transaction.goneParents.note(sql.shape.id, key) }
    hasBeenTouched = true
    try veils.drop(key)
    try transaction.held.wake(sql.shape.id, key)
    if shown.isEmpty || key.withBytes({ shown.remove(Array($0)) }) == nil { tell(key) }
    if isReferredTo, recordsKeys { key.withBytes { removed.append(Array($0)) } }
    return true
  }

  /// - Parameter content: what is to be written once the row went, if any of it is.
  func holdRefused(_ key: some ContiguousBytesLike, content: [String: SQLiteValue]) throws {
    hasHeld = true
    try transaction.held.hold(sql.shape.id, key, .removal, content: content)
  }

  /// Whether a row stands in its table that is to go from there.
  func isRemovalRefused(_ key: some ContiguousBytesLike) throws -> Bool {
    try hasHeld && transaction.held.isToGo(sql.shape.id, key.withBytes { Array($0) })
  }

  /// Tries again to take out a row that is to go; what the state says of it is done afterwards.
  func removeAgain(_ key: [UInt8]) throws {
    if try read(key) != nil, try !take(key) { return }
    let content = try aside(key) ?? [:]
    try transaction.held.drop(in: .held, sql.shape.id, key)
    guard let state = try state(of: key), state.isPresent else { return }
    // The settlement shows it, if it can stand.
    try transaction.held.hold(
      sql.shape.id, key, state.isComplete ? .constraint : .incomplete, content: content)
  }

  /// - Returns: whether the row is gone.
  @discardableResult
  func removeAndForget(_ key: some ContiguousBytesLike) throws -> Bool {
    try locals?.noteRemoved(key, self)
    try forget(key)
    return try remove(key)
  }

  func forget(_ key: some ContiguousBytesLike) throws {
    if hasHeld { try transaction.held.drop(in: .held, sql.shape.id, key) }
    if sql.shape.deletes.keepsContent { try transaction.held.drop(in: .kept, sql.shape.id, key) }
  }

  /// What is quarantined of a row, or kept of one that is deleted.
  func aside(_ key: some ContiguousBytesLike) throws -> [String: SQLiteValue]? {
    if hasHeld, let held = try transaction.held.content(in: .held, sql.shape.id, key) {
      return sql.shape.present(held)
    }
    guard sql.shape.deletes.keepsContent else { return nil }
    return try transaction.held.content(in: .kept, sql.shape.id, key).map { sql.shape.present($0) }
  }

  /// Takes a row out of its table whole, with what stood there and what was to be written.
  func hold(
    _ key: some ContiguousBytesLike, _ reason: HeldReason, adding content: [String: SQLiteValue]
  )
    throws
  {
    let shown = try read(key)
    let standing = try isRemovalRefused(key) ? aside(key) : shown
    let before = standing ?? locals?.giveBack(to: key, sql.shape) ?? [:]
    let content = before.merging(content) { $1 }
    if shown != nil {
      try locals?.noteRemoved(key, self)
      if try !take(key) {
        if reason == .deleted {
          try transaction.held.hold(sql.shape.id, key, reason, content: content)
        }
        return try holdRefused(key, content: content)
      }
      if reason == .deleted { try forget(key) }
    }
    if hasLocalChildren, reason == .deleted {
      try transaction.goneParents.note(sql.shape.id, key)
    }
    if reason != .deleted { hasHeld = true }
    // What waited for the row to go is looked at again.
    try transaction.held.hold(
      sql.shape.id, key, reason == .removal ? .constraint : reason, content: content)
  }

  /// What the state has of a row that its table shows, or that is to go from there, is quarantined
  /// or kept.
  func standing(_ key: some ContiguousBytesLike) throws -> [String: SQLiteValue]? {
    try isRemovalRefused(key) ? aside(key) : read(key) ?? aside(key)
  }

  /// What the state has of a row that stands in the table, local columns included.
  func read(_ key: some ContiguousBytesLike) throws -> [String: SQLiteValue]? {
    guard let shown = try readShown(key) else { return nil }
    return try veil(of: key)?.lifted(from: shown) ?? shown
  }

  /// The row as it stands in the table, local columns included.
  func readShown(_ key: some ContiguousBytesLike) throws -> [String: SQLiteValue]? {
    let statement = try transaction.statement(sql.read)
    _ = try bind(key, to: statement)
    defer { statement.reset() }
    guard try statement.step() else { return nil }
    var content: [String: SQLiteValue] = [:]
    for (index, name) in (sql.shape.columns.map(\.name) + sql.shape.localColumns).enumerated() {
      content[name] = statement.value(Int32(index + 1)).value
    }
    return content
  }

  /// - Returns: how many values the key has.
  func bind(_ key: some ContiguousBytesLike, to statement: FastStatement) throws -> Int {
    let values = try key.withBytes { try PackedKey.values($0) }
    for (index, value) in values.enumerated() { statement.bind(Int32(index + 1), copy: value) }
    return values.count
  }
}

/// A value on its way into a table: in place where it came from an operation, or computed.
enum ProjectedValue {
  case inPlace(WireValue)
  case computed(SQLiteValue)

  func bind(to statement: FastStatement, _ index: Int32) {
    switch self {
    case .inPlace(let value): statement.bind(index, value)
    case .computed(let value): statement.bind(index, copy: value)
    }
  }

  var value: SQLiteValue {
    switch self {
    case .inPlace(let value): value.value ?? .null
    case .computed(let value): value
    }
  }
}
