extension RowState.Content {
  /// The same where authors have other numbers.
  package func renumbered(_ number: (UInt32) throws(WireError) -> UInt32) throws(WireError)
    -> Self
  {
    func renumbered(_ stamp: Stamp) throws(WireError) -> Stamp {
      Stamp(time: stamp.time, author: try number(stamp.author))
    }
    switch self {
    case .unset: return .unset
    case .stamped(let stamp): return .stamped(try renumbered(stamp))
    case .counter(let sum, let stamp):
      return .counter(try sum.renumbered(number), try renumbered(stamp))
    case .extreme(let value, let stamp): return .extreme(value, try renumbered(stamp))
    case .set(let elements, let stamp): return .set(elements, try renumbered(stamp))
    case .text(let cell, let stamp): return .text(cell, try renumbered(stamp))
    case .presence(var presence):
      var writes: [UInt32: UInt64] = [:]
      for (author, sequence) in presence.writes { writes[try number(author)] = sequence }
      presence.writes = writes
      if let stamp = presence.lastWrite { presence.lastWrite = try renumbered(stamp) }
      if let stamp = presence.deletion { presence.deletion = try renumbered(stamp) }
      return .presence(presence)
    }
  }
}

extension RowState {
  /// The same state where authors and columns have other numbers, in the normal form of a table
  /// with these rules.
  ///
  /// - Parameters:
  ///   - number: an author's number there.
  ///   - sources: for each column there its number here, or `nil` for one that is not known here.
  ///   - kinds: of each column there.
  package func renumbered(
    authors number: (UInt32) throws(WireError) -> UInt32, columns sources: [UInt32?],
    kinds: [MergeRule.Kind]
  ) throws(WireError) -> RowState {
    var state = RowState(life: life, stamp: stamp)
    if stamp != .zero { state.stamp.author = try number(stamp.author) }
    guard isAlive else { return state }
    if isComplete { state.covered = UInt32(sources.count) }
    for (column, source) in sources.enumerated() {
      let cell: RowState.Content? = if let source { content(of: source) } else { nil }
      let isOfRow = if let source { isComplete && source < covered } else { false }
      let isBare = isComplete && kinds[column].isStampedByRow
      switch cell {
      // What the row's stamp covers has no cell, if its rule is the last writer's.
      case nil where isOfRow && isBare: break
      case nil, .unset, .presence:
        if isComplete { state.cells.append(.init(column: UInt32(column), content: .unset)) }
      case .stamped(stamp) where isBare: break
      case let cell?:
        state.cells.append(.init(column: UInt32(column), content: try cell.renumbered(number)))
      }
    }
    if case .presence(let renumbered)? = try cells.last?.content.renumbered(number) {
      state.setPresence(renumbered)
    }
    return state
  }
}

extension MergeRule.Kind {
  /// Whether a column that the row's insert wrote has no cell of its own.
  fileprivate var isStampedByRow: Bool { self == .lastWriter || self == .order }
}
