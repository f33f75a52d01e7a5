import TernCore

/// What the log says of one row that a reverted author wrote to: by life, what the author wrote
/// and what all others did.
struct RevertedRow {
  private(set) var written: [UInt32: Written] = [:]
  private(set) var others: [UInt32: RowBefore] = [:]

  /// The author's writes to one life, as one.
  struct Written {
    /// By column.
    var contents: [Int: LoggedChange.Content] = [:]
    /// By column, each element of a set by whether the first change of it added it.
    var isAdded: [Int: [SQLiteValue: Bool]] = [:]
    /// Of the first write of the row as a whole.
    var firstInsert: Stamp?
    var isDeleted = false
    /// Whether this replica began it, by a revert that was undone or by what undid one.
    var isByRevert = false
    /// From the first insert on everybody's writes.
    var all: RowBefore?
  }

  /// What is to become of the row.
  enum Aim {
    case nothing
    case leave(UndoneOperation.Reason)
    case remove
    /// With what a life of it held before the author's writes; or, as the author's own row that
    /// others changed, with these too.
    case bringBack(life: UInt32, isOwn: Bool)
    /// What is written goes back to what a life of it held before.
    case restore(life: UInt32)
  }

  /// - Parameters:
  ///   - isCorrected: whether an earlier call corrected what the operation did to a column.
  ///   - isByRevert: the operation is a revert that was undone, or undid one.
  mutating func add(
    _ change: LoggedChange, _ shape: TableShape, _ stamp: Stamp, _ id: LogID,
    isCorrected: (Int) -> Bool, isByRevert: Bool, _ authors: Authors
  ) {
    var life = written.removeValue(forKey: change.life) ?? Written()
    defer { written[change.life] = life }
    if change.kind == .delete { life.isDeleted = true }
    if change.kind == .insert, life.firstInsert == nil {
      (life.firstInsert, life.all) = (stamp, RowBefore(life: change.life))
      life.isByRevert = isByRevert
    }
    life.all?.add(change, shape, stamp, sequence: id.sequence, authors)
    for (column, content) in change.columns {
      switch content {
      case .value: life.contents[column] = content
      case _ where isCorrected(column): continue
      case .text: life.contents[column] = content
      case .difference(let number):
        guard case .difference(let sum)? = life.contents[column] else {
          life.contents[column] = content
          continue
        }
        life.contents[column] = .difference(sum &+ number)
      case .set(let change):
        var isAdded = life.isAdded[column] ?? [:]
        for entry in change.removed where isAdded[entry.element] == nil {
          isAdded[entry.element] = false
        }
        for element in change.added where isAdded[element] == nil { isAdded[element] = true }
        life.isAdded[column] = isAdded
      }
    }
  }

  mutating func addOthers(
    _ change: LoggedChange, _ shape: TableShape, _ stamp: Stamp, _ id: LogID, _ authors: Authors
  ) {
    others[change.life, default: RowBefore(life: change.life)]
      .add(change, shape, stamp, sequence: id.sequence, authors)
    written[change.life]?.all?.add(change, shape, stamp, sequence: id.sequence, authors)
  }

  /// The author's writes to a life, in the order of columns, as an operation's.
  func changes(of life: UInt32, andEnd isDelete: Bool) -> [LoggedChange] {
    let written = written[life] ?? Written()
    var contents = written.contents
    for (column, elements) in written.isAdded {
      contents[column] = .set(
        SetChange(
          added: elements.filter(\.value).keys.sorted(),
          removed: elements.filter { !$0.value }.keys.sorted()
            .map { ElementSet.Entry($0, VersionVector()) }))
    }
    let columns = contents.sorted { $0.key < $1.key }.map { (target: $0.key, content: $0.value) }
    let change = LoggedChange(
      kind: written.firstInsert == nil ? .update : .insert, life: life, columns: columns)
    let end = LoggedChange(kind: .delete, life: life, columns: [])
    return (columns.isEmpty && isDelete ? [] : [change]) + (isDelete ? [end] : [])
  }

  // MARK: - The aim

  /// - Parameters:
  ///   - isTrimmed: a row that was written whole may have begun before what the log has.
  ///   - isSettled: whether an earlier revert here wrote something with a stamp.
  func aim(
    _ state: RowState, _ shape: TableShape, _ writes: UndoneWrites, isTrimmed: Bool,
    _ authors: Authors, isSettled: (Stamp) -> Bool
  ) -> Aim {
    if state.isPresent {
      let life = state.life
      if let base = base(of: life, authors) {
        if base < life || written[life] != nil { return .restore(life: base) }
        // The row is there again; of what was there before nothing is missing any more.
        return isSettled(state.stamp) ? .nothing : .leave(.changedSince)
      }
      if isTouched(life) { return isTrimmed ? .restore(life: life) : .leave(.changedSince) }
      return isTrimmed ? .leave(.forgotten) : .remove
    }
    var life = state.isAlive ? state.life : state.life - 1
    // What came back by a revert that was undone goes by the life that the revert was about.
    while life > 2, others[life] == nil, written[life]?.isByRevert ?? false { life -= 2 }
    let end = state.isDeleted ? state.presence?.deletion ?? .zero : state.stamp
    guard writes.contains(end) else { return isSettled(end) ? .nothing : .leave(.changedSince) }
    guard let base = base(of: life, authors) else {
      if isTouched(life) { return .bringBack(life: life, isOwn: !isTrimmed) }
      return isTrimmed ? .leave(.forgotten) : .nothing
    }
    let isOthersToo = shape.deletes == .deleteWins && others[base]?.isDeleted ?? false
    return isOthersToo ? .leave(.changedSince) : .bringBack(life: base, isOwn: false)
  }

  private func isTouched(_ life: UInt32) -> Bool { others[life]?.isKnown ?? false }

  private func isBegun(_ life: UInt32, _ authors: Authors) -> Bool {
    guard let first = written[life]?.firstInsert else { return false }
    return others[life]?.firstInsert.map { authors.isLess(first, $0) } ?? true
  }

  /// The life that there would be without the author, who may have ended it and begun others;
  /// `nil` for none.
  private func base(of life: UInt32, _ authors: Authors) -> UInt32? {
    var life = life
    while isBegun(life, authors) {
      guard life > 2, written[life - 2]?.isDeleted ?? false,
        !(others[life - 2]?.isDeleted ?? false)
      else { return nil }
      life -= 2
    }
    return life
  }
}
