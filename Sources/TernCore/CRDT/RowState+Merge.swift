/// One row change as the merge sees it: columns are the receiver's ids.
package struct RowChange {
  package enum Kind: UInt8, Sendable {
    /// The row is gone; its life is even.
    case delete = 0
    /// The row with every column that its author knew.
    case insert = 1
    /// Some columns of a row.
    case update = 2
  }

  package var kind: Kind
  package var life: UInt32
  package var stamp: Stamp
  /// Of the operation.
  package var sequence: UInt64
  /// Of a delete under `.updateWins`: the writes that its author had seen.
  package var covered: VersionVector

  package init(
    kind: Kind, life: UInt32, stamp: Stamp, sequence: UInt64,
    covered: VersionVector = VersionVector()
  ) {
    self.kind = kind
    self.life = life
    self.stamp = stamp
    self.sequence = sequence
    self.covered = covered
  }
}

/// What a merge asks of the table.
package enum RowEffect: Hashable, Sendable {
  /// The row's presence stays; single columns may change.
  case stays
  /// The row begins a new life and is written anew.
  case begins
  case ends
  /// An older life: it contributes nothing.
  case beaten
}

extension RowState {
  /// Merges the row's part of a change: its life and, for a delete, its stamp.
  ///
  /// Where the table keeps what is deleted, no effect is `.ends`: ``settle(_:after:authors:)``
  /// decides when the columns are merged.
  ///
  /// Columns follow through ``mergeColumn(_:rule:value:stamp:turn:authors:)`` unless the effect is
  /// `.beaten`, and then ``finishInsert(_:rules:authors:)`` for an insert.
  package mutating func begin(
    _ change: RowChange, deletes: DeleteRule = .deleteWins, authors: Authors
  ) -> RowEffect {
    if deletes.keepsContent { return beginKeeping(change, deletes, authors: authors) }
    if change.life < life { return .beaten }
    let wasAlive = isAlive
    let isNewLife = change.life > life
    if isNewLife { self = RowState(life: change.life) }
    if change.kind == .delete {
      if stamp == .zero || authors.isLess(stamp, change.stamp) { stamp = change.stamp }
      return isNewLife && wasAlive ? .ends : .stays
    }
    return isNewLife ? .begins : .stays
  }

  /// Merges one column.
  ///
  /// - Parameter turn: of the operation, by which a set knows its additions.
  /// - Returns: whether the column's value in the table changes: to the written value for
  ///   `.lastWriter`, to ``Content`` for the other rules.
  /// - Throws: ``WireError`` for a counter's difference that is no number, or a set's or a
  ///   text's change that cannot be read.
  package mutating func mergeColumn(
    _ column: UInt32, rule: MergeRule, value: WireValue, stamp new: Stamp, turn: Turn,
    authors: Authors
  ) throws(WireError) -> Bool {
    switch rule.kind {
    case .lastWriter, .order:
      guard stamp(of: column).map({ authors.isLess($0, new) }) ?? true else { return false }
      set(.stamped(new), of: column)
      return true
    case .counter:
      guard let difference = value.wide else { throw WireError(.malformed, "counter") }
      let times: Int128 = Planted.isActive(.counterCountedTwice) && new.author != 0 ? 2 : 1
      add(difference &* times, to: column, stamp: new, authors: authors)
      return true
    case .maximum, .minimum:
      guard let value = value.value else { throw WireError(.malformed, "extreme") }
      guard case .extreme(let old, let stamp) = content(of: column) else {
        set(.extreme(value, new), of: column)
        return true
      }
      if value == old {
        // The earliest writer of an equal value keeps it, in any order of arrival.
        if authors.isLess(new, stamp) { set(.extreme(old, new), of: column) }
        return false
      }
      guard rule.isBeaten(old, by: value) else { return false }
      set(.extreme(value, new), of: column)
      return true
    case .set:
      guard value.tag == .blob else { throw WireError(.malformed, "set") }
      return apply(
        try SetChange(value.content), to: column, stamp: new, turn: turn, authors: authors)
    case .text:
      guard value.tag == .blob else { throw WireError(.malformed, "text") }
      return try apply(
        TextChange(value.content), to: column, stamp: new, sequence: turn.sequence,
        authors: authors)
    }
  }

  /// Changes a set.
  ///
  /// - Returns: whether its elements changed.
  package mutating func apply(
    _ change: SetChange, to column: UInt32, stamp new: Stamp, turn: Turn, authors: Authors
  ) -> Bool {
    var elements = elements(of: column)
    let author = authors.ids[Int(new.author)]
    let hasChanged = elements.apply(change, by: author, turn)
    set(.set(elements, latest(of: column, new, authors)), of: column)
    return hasChanged
  }

  func latest(of column: UInt32, _ new: Stamp, _ authors: Authors) -> Stamp {
    stamp(of: column).map { authors.isLess($0, new) ? new : $0 } ?? new
  }

  /// Adds to a counter what the stamp's author added.
  package mutating func add(
    _ difference: Int128, to column: UInt32, stamp new: Stamp, authors: Authors
  ) {
    var sum = CounterSum()
    if case .counter(let old, _) = content(of: column) { sum = old }
    sum[new.author] &+= difference
    set(.counter(sum, latest(of: column, new, authors)), of: column)
  }

  /// Moves the row's own stamp to that of its greatest insert and restores the normal form.
  ///
  /// - Parameters:
  ///   - stamp: of the insert whose columns were just merged.
  ///   - rules: of every column that the table ever had, by id.
  package mutating func finishInsert(_ new: Stamp, rules: [MergeRule], authors: Authors) {
    let winner = stamp == .zero || authors.isLess(stamp, new) ? new : stamp
    if winner != stamp || covered < rules.count {
      for (index, rule) in rules.enumerated() {
        let column = UInt32(index)
        if rule.isLastWriter {
          set(stamp(of: column).map { .stamped($0) } ?? .unset, of: column)
        } else if content(of: column) == nil {
          // An author with an older schema did not carry it, so the row's stamp is not its own.
          set(.unset, of: column)
        }
      }
      stamp = winner
      covered = UInt32(rules.count)
    }
    cells.removeAll { $0.content == .stamped(winner) }
  }

  /// The state of a row that begins with an insert of every last-writer column: the common case,
  /// without a cell and without an allocation.
  package static func inserted(life: UInt32, stamp: Stamp, columnCount: Int) -> RowState {
    RowState(life: life, stamp: stamp, covered: UInt32(columnCount))
  }
}
