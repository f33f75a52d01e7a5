// Two states of one row become one, as if all operations of both had been merged in any order.

extension RowState {
  /// Whether both count in one column, and not all of it is known to be somebody's: that can
  /// be joined only where no operation is in both.
  package func sharesCounter(with other: RowState) -> Bool {
    life == other.life
      && cells.contains { cell in
        guard case .counter(let sum, _) = cell.content,
          case .counter(let others, _) = other.content(of: cell.column)
        else { return false }
        return sum.base != nil || others.base != nil
      }
  }

  /// The state of a row that has seen what this one has and what `other` has.
  ///
  /// - Parameters:
  ///   - other: in the same numbers of authors and columns.
  ///   - isBehind: whether `other` has seen more of an author.
  ///   - rules: of every column that the table ever had, by id.
  /// - Throws: ``WireError`` where a text is damaged, or both are of two copies of a database.
  package func joined(
    with other: RowState, isBehind: (UInt32) -> Bool, rules: [MergeRule], deletes: DeleteRule,
    authors: Authors
  ) throws(WireError) -> RowState {
    if life != other.life { return life < other.life ? other : self }
    var joined = RowState(life: life, stamp: authors.later(stamp, other.stamp))
    guard isAlive else { return joined }
    if joined.isComplete { joined.covered = UInt32(rules.count) }
    for (index, rule) in rules.enumerated() {
      let column = UInt32(index)
      let content =
        rule.isLastWriter
        ? authors.later(stamp(of: column), other.stamp(of: column)).map { Content.stamped($0) }
        : try Self.joined(content(of: column), other.content(of: column), isBehind, rule, authors)
      if content == .stamped(joined.stamp), joined.isComplete { continue }
      if let content = content ?? (joined.isComplete ? .unset : nil) {
        joined.cells.append(Cell(column: column, content: content))
      }
    }
    joined.joinPresence(self, other, deletes, authors)
    return joined
  }

  private static func joined(
    _ left: Content?, _ right: Content?, _ isBehind: (UInt32) -> Bool, _ rule: MergeRule,
    _ authors: Authors
  ) throws(WireError) -> Content? {
    switch (left, right) {
    case (.counter(let sum, let stamp), .counter(let other, let otherStamp)):
      return .counter(
        sum.joined(with: other, isBehind: isBehind), authors.later(stamp, otherStamp))
    case (.extreme(let value, let stamp), .extreme(let other, let otherStamp)):
      if value == other {
        return .extreme(value, authors.isLess(stamp, otherStamp) ? stamp : otherStamp)
      }
      return rule.isBeaten(value, by: other) ? right : left
    case (.set(let elements, let stamp), .set(let others, let otherStamp)):
      return .set(elements.joined(with: others), authors.later(stamp, otherStamp))
    case (.text(let cell, let stamp), .text(let other, let otherStamp)):
      var sequence = try cell.sequence()
      try sequence.join(try other.sequence())
      return .text(TextCell(sequence), authors.later(stamp, otherStamp))
    case (nil, _), (.unset, _): return right == .unset ? nil : right
    default: return left
    }
  }
}

extension ElementSet {
  /// What either holds, less what the other has seen and holds no more.
  func joined(with other: ElementSet) -> ElementSet {
    var joined = ElementSet()
    joined.entries = standing(in: other)
    joined.entries.merge(other.standing(in: self))
    joined.arrived = arrived
    for (replica, sequence) in other.arrived.sequences {
      joined.arrived[replica] = max(arrived[replica], sequence)
    }
    joined.early = early
    joined.early.merge(other.early)
    for index in joined.early.indices {
      joined.early[index].additions = VersionVector(
        joined.early[index].additions.sequences.filter { $0.value > joined.arrived[$0.key] })
    }
    joined.early.removeAll { $0.additions.sequences.isEmpty }
    return joined
  }

  /// The entries that `other` has too, or has not seen.
  private func standing(in other: ElementSet) -> [Entry] {
    entries.compactMap { entry in
      let theirs = other.entries.index(of: entry.element).map { other.entries[$0].additions }
      let removed = other.early.index(of: entry.element).map { other.early[$0].additions }
      let additions = entry.additions.sequences.filter { replica, sequence in
        if let theirs, theirs[replica] >= sequence { return true }
        return sequence > max(other.arrived[replica], removed?[replica] ?? 0)
      }
      return additions.isEmpty ? nil : Entry(entry.element, VersionVector(additions))
    }
  }
}

extension Authors {
  /// The later of two stamps; zero is before all others.
  func later(_ left: Stamp, _ right: Stamp) -> Stamp {
    if left == .zero || right == .zero { return left == .zero ? right : left }
    return isLess(left, right) ? right : left
  }

  func later(_ left: Stamp?, _ right: Stamp?) -> Stamp? {
    guard let left, let right else { return left ?? right }
    return later(left, right)
  }
}
