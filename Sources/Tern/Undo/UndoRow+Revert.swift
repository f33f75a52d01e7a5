import TernCore

/// Deciding what taking back all that an author wrote to one row means.
extension UndoRow {
  /// - Parameters:
  ///   - held: what the row holds where it is quarantined.
  ///   - isSettled: whether an earlier revert here wrote something with a stamp.
  /// - Returns: `nil` where nothing is to be said of the row.
  func plan(_ aim: RevertedRow.Aim, held: [String: SQLiteValue]?, isSettled: (Stamp) -> Bool)
    -> Plan?
  {
    switch aim {
    case .nothing: return nil
    case .leave(let reason): return left(reason)
    case .bringBack: return bringBack()
    case .remove where isMigrated: return left(.forgotten)
    case .remove where isHeld: return left(.quarantined)
    case .remove:
      let columns = changes.flatMap(\.columns).map { name($0.target) }
      return (.delete, report(.removed, columns: Set(columns)))
    case .restore:
      guard let state, state.isComplete, let shown else { return left(.quarantined) }
      return revert(state, shown, held, isSettled)
    }
  }

  private func revert(
    _ state: RowState, _ shown: [String: SQLiteValue], _ held: [String: SQLiteValue]?,
    _ isSettled: (Stamp) -> Bool
  ) -> Plan? {
    var content: [String: SQLiteValue] = [:]
    var left: [String: UndoneOperation.Reason] = [:]
    for (column, written) in changes.flatMap(\.columns) {
      let name = name(column)
      switch value(of: column, written, state, shown, isHeld: held != nil) {
      case .value(let value)?: content[name] = value
      case .left(let reason)?:
        let isDone = state.stamp(of: UInt32(shape.columns[column].id)).map(isSettled) ?? false
        if !isDone { left[name] = reason }
      case nil: break
      }
    }
    if content.isEmpty, left.isEmpty { return nil }
    guard let held, !content.isEmpty else { return restored(content, left) }
    return (
      .insert(whole(held).merging(content) { $1 }),
      report(.restored, columns: Set(content.keys), left: left)
    )
  }

  private enum Outcome {
    case value(SQLiteValue)
    case left(UndoneOperation.Reason)
  }

  /// - Returns: `nil` where nothing of it stands, or it is as it was.
  private func value(
    of column: Int, _ written: LoggedChange.Content, _ state: RowState,
    _ shown: [String: SQLiteValue],
    isHeld: Bool
  ) -> Outcome? {
    let current = shown[name(column)]
    // Another life's are no part of what stands.
    let isAcross = before.life < state.life
    let isStanding = stands(column, written, state, shown)
    switch written {
    case .difference(let number):
      let correction = (isAcross ? before.sum(of: column) : 0) &- number
      if correction == 0 { return nil }
      guard !isHeld, case .integer(let sum)? = current else {
        return .value(.integer(Int64(clamping: correction)))
      }
      return .value(.integer(Int64(clamping: Int128(sum) &+ correction)))
    case .set(let change):
      let former = (isAcross ? before.elements(of: column) : []) + change.removed.map(\.element)
      // To a row that is quarantined elements can be added alone.
      if isHeld, former.isEmpty { return .left(.quarantined) }
      let entries = Set(former).map { ElementSet.Entry($0, VersionVector()) }
      let opposite = opposite(of: SetChange(added: change.added, removed: entries), column, state)
      return opposite == current ? nil : .value(opposite)
    case .text:
      if isHeld { return .left(.quarantined) }
      if before.hasWaitingEdits(of: column) || isAcross && !isStanding {
        return .left(.changedSince)
      }
      if trimmedTime > .zero { return .left(.forgotten) }
      let text = before.value(of: column) ?? .text([])
      return text == current ? nil : .value(text)
    case .value where !shape.columns[column].rule.isLastWriter:
      return isStanding ? .left(.extreme) : nil
    case .value:
      if !isStanding { return .left(.changedSince) }
      guard let value = before.latest(column, after: trimmedTime) else { return .left(.forgotten) }
      return value == current ? nil : .value(value)
    }
  }

  /// A row that is quarantined, as it is written: a seal adds what is in counters, sets and texts
  /// to what its state has.
  private func whole(_ held: [String: SQLiteValue]) -> [String: SQLiteValue] {
    var content = held
    for column in shape.columns {
      switch column.rule.kind {
      case .counter: content[column.name] = .integer(0)
      case .set: content[column.name] = ElementSet().json
      case .text: content[column.name] = .text([])
      case .lastWriter, .order, .maximum, .minimum: break
      }
    }
    return content
  }
}
