import TernCore

/// Says what became of a write to one column, from the column's state.
struct WriteJudge {
  let rule: MergeRule
  let isRowDeleted: Bool
  /// Of the write that stands.
  let standing: Stamp?
  /// The extreme, where the rule has one.
  let value: SQLiteValue?
  /// What the set holds, where the rule makes one.
  let elements: ElementSet
  /// The text, where the rule makes one.
  let text: TextSequence?
  let authors: Authors

  func outcome(of write: LoggedWrite) -> RowExplanation.Outcome {
    if isRowDeleted { return .beaten(.deleted) }
    switch rule.kind {
    case .lastWriter, .order: return write.stamp == standing ? .stands : .beaten(.later)
    case .counter: return .counts
    case .maximum, .minimum:
      if write.stamp == standing { return .stands }
      if case .value(let written) = write.content, written == value {
        return .beaten(.earlierEqual)
      }
      return .beaten(.extreme)
    case .set: return outcome(ofChange: write)
    case .text: return outcome(ofEdit: write)
    }
  }

  /// An edit that only removes counts for good.
  private func outcome(ofEdit write: LoggedWrite) -> RowExplanation.Outcome {
    guard case .text(let inserted, let removed) = write.content, let text, !inserted.isEmpty,
      removed == 0
    else { return .counts }
    let author = authors.ids[Int(write.stamp.author)]
    let isShown =
      text.shows(author, write.sequence)
      || inserted.count == 1 && text.shows(initial: Array(inserted[0].utf8))
    return isShown ? .counts : .beaten(.removed)
  }

  private func outcome(ofChange write: LoggedWrite) -> RowExplanation.Outcome {
    guard case .set(let added, let removed) = write.content else { return .counts }
    let author = authors.ids[Int(write.stamp.author)]
    let present = Dictionary(
      uniqueKeysWithValues: elements.entries.map { ($0.element, $0.additions) })
    // A later addition by the same replica stands for the earlier one.
    let isStanding =
      added.contains { present[$0].map { $0[author] >= write.sequence } ?? false }
      || removed.contains { present[$0] == nil }
    if isStanding || added.isEmpty && removed.isEmpty { return .counts }
    return .beaten(added.isEmpty ? .added : .removed)
  }
}
