extension RowState {
  /// A write that stands in a row's state: to a column, or to the row.
  package struct Write: Hashable, Sendable {
    /// `nil` for the row's insert or its delete, and where all of the row is meant.
    package var column: UInt32?
    package var stamp: Stamp

    package init(column: UInt32?, stamp: Stamp) { (self.column, self.stamp) = (column, stamp) }
  }

  /// What was written here that `other` does not have, nor anything later in its place.
  ///
  /// Lives and stamps only grow: a state that has seen the same operations lacks nothing. What sums
  /// up to, is in a set or in a text is not looked at.
  ///
  /// - Parameters:
  ///   - other: `nil` where there is no such row.
  ///   - columns: those that are looked at.
  package func writes(
    lackingIn other: RowState?, columns: some Sequence<(id: UInt32, rule: MergeRule)>,
    authors: Authors
  ) -> [Write] {
    // Any of them would have brought the row to this life.
    guard let other, other.life >= life else {
      return everyStamp.map { Write(column: nil, stamp: $0) }
    }
    guard other.life == life else { return [] }
    var lacking: [Write] = []
    func hold(_ stamp: Stamp, against other: Stamp?, _ column: UInt32? = nil) {
      if stamp == .zero { return }
      if let other, other == stamp || authors.isLess(stamp, other) { return }
      lacking.append(Write(column: column, stamp: stamp))
    }
    hold(stamp, against: other.stamp)
    if let deletion = presence?.deletion { hold(deletion, against: other.presence?.deletion) }
    for (id, rule) in columns {
      guard let stamp = stamp(of: id) else { continue }
      switch (content(of: id), other.content(of: id)) {
      case (.extreme(let value, _), .extreme(let theirs, _)):
        // The stamp of an extreme can go down.
        if value != theirs, rule.isBeaten(theirs, by: value) { hold(stamp, against: nil, id) }
      default: hold(stamp, against: other.stamp(of: id), id)
      }
    }
    return lacking
  }
}
