import GRDB
import TernCore

/// Decides what taking one row back means: what to write, and what to leave alone.
struct UndoRow {
  let id: RowID
  let sql: TableSQL
  let key: [SQLiteValue]
  let changes: [LoggedChange]
  let before: RowBefore
  /// The operation has it as an insert, and a migration had brought it before.
  let isMigrated: Bool
  let state: RowState?
  /// As it stands in its table, local columns included.
  let shown: [String: SQLiteValue]?
  let isHeld: Bool
  /// What is kept of it while it is deleted.
  let kept: [String: SQLiteValue]?
  /// Up to which the log may lack operations; zero where it holds all.
  let trimmedTime: HybridTime
  let writes: UndoneWrites
  let authors: Authors

  enum Write {
    case delete
    case update([String: SQLiteValue])
    case insert([String: SQLiteValue])
  }

  var shape: TableShape { sql.shape }
  private var author: ReplicaID { authors.ids[Int(writes.author)] }
  private var isTrimmed: Bool { trimmedTime > .zero }
  private var isDelete: Bool { changes.last?.kind == .delete }
  private var allColumns: [(target: Int, content: LoggedChange.Content)] {
    shape.columns.indices.map { ($0, .value(.null)) }
  }

  typealias Plan = (write: Write?, report: UndoneOperation.Row)

  /// To leave it as it is, because of what came since.
  var left: Plan { left(.changedSince) }

  func left(_ reason: UndoneOperation.Reason) -> Plan {
    leave(isDelete ? allColumns : changes.flatMap(\.columns), reason)
  }

  /// A plan without what refers to a row that is not there: a row that comes back is without it
  /// where its foreign key sets NULL or a default, and otherwise nothing is left of it. `nil` where
  /// it writes nothing of that foreign key.
  func leaving(_ foreignKey: TableShape.ForeignKey, of plan: Plan, _ db: Database) throws -> Plan? {
    switch plan.write {
    case .insert(var content) where shape.isReleased(foreignKey):
      let released = try shape.released(foreignKey, db)
      // The default has no parent either.
      if released.allSatisfy({ content[$0.key] == $0.value }) { return left }
      content.merge(released) { $1 }
      let left = plan.report.left.merging(released.mapValues { _ in .changedSince }) { $1 }
      return (.insert(content), report(.broughtBack, columns: plan.report.columns, left: left))
    case .insert: return left
    case .update(var content):
      let columns = Set(foreignKey.columns.map(\.folded))
      let names = content.keys.filter { columns.contains($0.folded) }
      if names.isEmpty { return nil }
      var left = plan.report.left
      for name in names { (content[name], left[name]) = (nil, .changedSince) }
      return restored(content, left)
    case .delete, nil: return nil
    }
  }

  func plan() -> Plan {
    if isDelete { return bringBack() }
    let written = changes.flatMap(\.columns)
    guard let state, let shown, state.isPresent, isSameRow(state) else {
      return leave(written, isHeld ? .quarantined : .changedSince)
    }
    if changes[0].kind == .insert, !before.isKnown {
      // In a log that was trimmed, a row that was written whole looks like one that began. What a
      // migration brought is known to no log.
      if isTrimmed || isMigrated { return leave(written, .forgotten) }
      let isTouched =
        written.contains { !stands($0.target, $0.content, state, shown) }
        || shape.columns.contains { isOthers(state.stamp(of: UInt32($0.id))) }
      return isTouched
        ? leave(written, .changedSince)
        : (.delete, report(.removed, columns: Set(written.map { name($0.target) })))
    }
    return restore(written, state, shown)
  }

  // MARK: - What stands

  /// Whether it is the row of the operation, or one that an undo brought back.
  private func isSameRow(_ state: RowState) -> Bool {
    state.life == before.life || writes.isUndo(state.stamp)
  }

  /// Whether what the operation wrote is what stands, or stands again.
  func stands(
    _ column: Int, _ content: LoggedChange.Content, _ state: RowState,
    _ shown: [String: SQLiteValue]
  ) -> Bool {
    guard let stamp = state.stamp(of: UInt32(shape.columns[column].id)) else { return false }
    if writes.contains(stamp) { return true }
    guard writes.isUndo(stamp) else { return false }
    // An undo also writes what others had written before the operation that it took back.
    if case .value(let value) = content { return shown[name(column)] == value }
    return true
  }

  private func isOthers(_ stamp: Stamp?) -> Bool {
    stamp.map { !writes.contains($0) && !writes.isUndo($0) } ?? false
  }

  // MARK: - Columns

  private func restore(
    _ written: [(target: Int, content: LoggedChange.Content)], _ state: RowState,
    _ shown: [String: SQLiteValue]
  ) -> Plan {
    var content: [String: SQLiteValue] = [:]
    var left: [String: UndoneOperation.Reason] = [:]
    for (column, written) in written {
      let name = name(column)
      switch written {
      case .difference(let number): content[name] = difference(number, from: shown[name])
      case .set(let change): content[name] = opposite(of: change, column, state)
      // A text goes back to what all others had made of it, unless somebody went on with it.
      case .text where !stands(column, written, state, shown): left[name] = .changedSince
      case .text where trimmedTime > .zero: left[name] = .forgotten
      case .text: content[name] = before.value(of: column) ?? .text([])
      case .value where !shape.columns[column].rule.isLastWriter: left[name] = .extreme
      case .value where !stands(column, written, state, shown): left[name] = .changedSince
      case .value:
        if let value = before.latest(column, after: trimmedTime) {
          content[name] = value
        } else {
          left[name] = .forgotten
        }
      }
    }
    return restored(content, left)
  }

  func restored(_ content: [String: SQLiteValue], _ left: [String: UndoneOperation.Reason])
    -> Plan
  {
    let action = content.isEmpty ? UndoneOperation.Row.Action.left : .restored
    return (
      content.isEmpty ? nil : .update(content),
      report(action, columns: Set(content.keys), left: left)
    )
  }

  private func difference(_ number: Int128, from shown: SQLiteValue?) -> SQLiteValue {
    guard case .integer(let sum)? = shown else { return .integer(Int64(clamping: 0 &- number)) }
    return .integer(Int64(clamping: Int128(sum) &- number))
  }

  /// What was added goes, unless somebody else added it too; what was taken out comes back.
  func opposite(of change: SetChange, _ column: Int, _ state: RowState) -> SQLiteValue {
    let elements = state.elements(of: UInt32(shape.columns[column].id))
    var wanted = Set(elements.elements)
    for entry in elements.entries
    where change.added.contains(entry.element) && entry.additions.sequences.allSatisfy(isWritten) {
      wanted.remove(entry.element)
    }
    wanted.formUnion(change.removed.map(\.element))
    var set = ElementSet()
    _ = set.apply(SetChange(added: wanted.sorted()), by: author, Turn(1))
    return set.json
  }

  private func isWritten(_ replica: ReplicaID, _ sequence: UInt64) -> Bool {
    if replica == author { return true }
    return authors.index(of: replica).map {
      writes.reverts.operations.contains(LogID(author: $0, sequence: sequence))
    } ?? false
  }

  // MARK: - Whole rows

  func bringBack() -> Plan {
    guard let state, isDeleted(state) else { return self.left }
    guard kept != nil || before.isKnown && !isTrimmed || before.isWhole(shape, after: trimmedTime)
    else { return leave(allColumns, .forgotten) }
    var content = kept.map(shape.present) ?? [:]
    var left: [String: UndoneOperation.Reason] = [:]
    for column in shape.columns.indices {
      // Of what adds up the log may have the end alone, and what is kept is the whole.
      if isTrimmed {
        if !takeBack(column, in: &content, state) { left[name(column)] = .forgotten }
      } else if let value = before.value(of: column) {
        content[name(column)] = value
      }
      if content[name(column)] == nil { left[name(column)] = .forgotten }
    }
    return (.insert(content), report(.broughtBack, columns: Set(content.keys), left: left))
  }

  /// Brings a column of what is kept to what it was before the operation, which may have written it
  /// and then deleted the row.
  ///
  /// - Returns: whether that is known; otherwise it is as it stood last.
  private func takeBack(
    _ column: Int, in content: inout [String: SQLiteValue], _ state: RowState
  ) -> Bool {
    let name = name(column)
    if let value = before.latest(column, after: trimmedTime) {
      content[name] = value
      return true
    }
    for written in changes.flatMap(\.columns) where written.target == column {
      switch written.content {
      case .difference(let number): content[name] = difference(number, from: content[name])
      case .set(let change): content[name] = opposite(of: change, column, state)
      case .text, .value: return false
      }
    }
    return true
  }

  /// By the operation, and by nobody later.
  private func isDeleted(_ state: RowState) -> Bool {
    if state.isDeleted { return state.presence?.deletion.map(writes.contains) ?? false }
    let end = changes.last.map { $0.life + 1 }
    return !state.isAlive && state.life == end && writes.contains(state.stamp)
  }

  // MARK: - The report

  func name(_ column: Int) -> String { shape.columns[column].name }

  func leave(
    _ columns: [(target: Int, content: LoggedChange.Content)], _ reason: UndoneOperation.Reason
  ) -> Plan {
    let left = Dictionary(columns.map { (name($0.target), reason) }) { first, _ in first }
    return (nil, report(.left, columns: [], left: left))
  }

  func report(
    _ action: UndoneOperation.Row.Action, columns: Set<String>,
    left: [String: UndoneOperation.Reason] = [:]
  ) -> UndoneOperation.Row {
    UndoneOperation.Row(
      table: shape.name, key: key, action: action, columns: columns, left: left)
  }
}
