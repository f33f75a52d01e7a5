/// What ``Renaming`` does to a state that holds the renamed operations already.
///
/// The order of any two writes stays: times do, and the new id is the next one behind the old one,
/// so that what won, and what stands before what, is the same under both. Nothing that anybody else
/// wrote may name one of the renamed operations.
package struct StateRenaming: Hashable, Sendable {
  package let renaming: Renaming
  /// Of the last operation that stays the old one's.
  package let time: HybridTime
  /// The old id's new index; the new one's is 0.
  package let former: UInt32
  /// Whether there is any operation to rename. Where there is none, a number after the last
  /// is another copy's.
  package let isAny: Bool

  package init(_ renaming: Renaming, time: HybridTime, former: UInt32, isAny: Bool) {
    (self.renaming, self.time, self.former, self.isAny) = (renaming, time, former, isAny)
  }

  private func renamed(_ stamp: Stamp) -> Stamp {
    guard stamp.author == 0, stamp != .zero, stamp.time <= time else { return stamp }
    return Stamp(time: stamp.time, author: former)
  }

  /// - Throws: ``WireError`` where a text is damaged.
  package func renamed(_ cells: [RowState.Cell]) throws(WireError) -> [RowState.Cell] {
    var cells = cells
    for index in cells.indices {
      cells[index].content =
        switch cells[index].content {
        case .unset: .unset
        case .stamped(let stamp): .stamped(renamed(stamp))
        case .counter(let sum, let stamp): .counter(renamed(sum), renamed(stamp))
        case .extreme(let value, let stamp): .extreme(value, renamed(stamp))
        case .set(let elements, let stamp): .set(renamed(elements), renamed(stamp))
        case .text(let cell, let stamp): .text(try renamed(cell), renamed(stamp))
        case .presence(let presence): .presence(renamed(presence))
        }
    }
    return cells
  }

  /// All of it, at first: ``note(_:addedTo:in:)``.
  private func renamed(_ sum: CounterSum) -> CounterSum {
    var sum = sum
    (sum[former], sum[0]) = (sum[0], 0)
    return sum
  }

  /// Gives the new id what one of the renamed operations added.
  package func note(_ difference: Int128, addedTo column: UInt32, in state: inout RowState) {
    guard case .counter(var sum, let stamp) = state.content(of: column) else { return }
    sum[0] &+= difference
    sum[former] &-= difference
    state.set(.counter(sum, stamp), of: column)
  }

  private func renamed(_ cell: TextCell) throws(WireError) -> TextCell {
    guard isAny else { return cell }
    var sequence = try cell.sequence()
    sequence.rename(renaming)
    return TextCell(sequence)
  }

  /// An element is added where it is not, so of one author's additions none but the last can stand.
  private func renamed(_ elements: ElementSet) -> ElementSet {
    guard isAny else { return elements }
    var elements = elements
    for index in elements.entries.indices {
      elements.entries[index].additions = renaming.renamed(
        exactly: elements.entries[index].additions)
    }
    elements.arrived = renaming.renamed(upTo: elements.arrived)
    return elements
  }

  private func renamed(_ presence: Presence) -> Presence {
    var presence = presence
    presence.deletion = presence.deletion.map(renamed)
    presence.lastWrite = presence.lastWrite.map(renamed)
    if let last = presence.writes.removeValue(forKey: 0) {
      if last > renaming.last {
        presence.writes[0] = last - renaming.last
      } else {
        presence.writes[former] = last
      }
    }
    if isAny { presence.covered = renaming.renamed(upTo: presence.covered) }
    return presence
  }

  /// Whether the row has a last write of the new id, and none of the old one, which wrote before.
  package func lacksWrite(_ state: RowState) -> Bool {
    guard let writes = state.presence?.writes else { return false }
    return writes[0] != nil && writes[former] == nil
  }

  /// Puts the old id's last write to a row into its state, where the new id wrote later.
  package func note(_ sequence: UInt64, in state: inout RowState) {
    guard var presence = state.presence, presence.writes[0] != nil else { return }
    presence.writes[former] = sequence
    state.setPresence(presence)
  }

  /// The same where nobody knows any more which one it was, or whether there is one: up
  /// to that number.
  ///
  /// What this replica deletes covers it. A delete of somebody else's that covers what the new id
  /// wrote has seen it too, because every remote had it before.
  package func noteAny(upTo sequence: UInt64, in state: inout RowState) {
    guard lacksWrite(state), var presence = state.presence else { return }
    presence.writes[former] = sequence
    presence.covered[renaming.old] = max(presence.covered[renaming.old], sequence)
    state.setPresence(presence)
  }
}

extension ReplicaID {
  /// An id behind this one and before all others that are known.
  ///
  /// - Returns: `nil` where there is too little room.
  package func next(among others: [ReplicaID], random: () -> UInt64) -> ReplicaID? {
    var end = UInt64.max
    for other in others where other.high == high && other.low > low { end = min(end, other.low) }
    guard end - low > 1 << 32 else { return nil }
    return ReplicaID(high: high, low: low + 1 + random() % (end - low - 1))
  }
}
