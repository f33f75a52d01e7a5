extension RowState {
  /// What is wrong with the form of a state that was read from a file, or `nil` where a merge could
  /// have written it.
  ///
  /// A column that an upgrade replayed may say in a cell what the row's stamp says; states are
  /// compared by what they mean (INV-01).
  ///
  /// - Parameter kinds: of every column that the table ever had, by id.
  package func formError(_ kinds: [MergeRule.Kind], deletes: DeleteRule, authors: Authors)
    -> String?
  {
    guard life > 0 else { return "its life is 0" }
    if !isAlive {
      if deletes.keepsContent { return "its life has ended, where deletes keep the row" }
      if stamp == .zero { return "it is deleted by nobody" }
      return covered == 0 && cells.isEmpty ? nil : "it is deleted and has columns"
    }
    guard covered <= kinds.count else { return "it covers columns that never were" }
    // A row that was inserted when the table was keys alone covers no column.
    guard covered == 0 || stamp != .zero else {
      return "its stamp and the columns that it covers contradict each other"
    }
    guard zip(cells, cells.dropFirst()).allSatisfy({ $0.column < $1.column }) else {
      return "its cells are out of order"
    }
    for cell in cells {
      if let error = formError(of: cell, kinds, deletes) { return error }
    }
    for (column, kind) in kinds.prefix(Int(covered)).enumerated()
    where kind != .lastWriter && kind != .order && content(of: UInt32(column)) == nil {
      return "column \(column) has no cell"
    }
    return presenceError(deletes, authors)
  }

  private func formError(
    of cell: Cell, _ kinds: [MergeRule.Kind], _ deletes: DeleteRule
  ) -> String? {
    if case .presence = cell.content {
      return deletes.keepsContent && cell == cells.last ? nil : "it has a presence out of place"
    }
    guard Int(cell.column) < kinds.count else { return "column \(cell.column) never was" }
    let kind = kinds[Int(cell.column)]
    guard cell.content.isOf(kind) else {
      return "the cell of column \(cell.column) is of another rule"
    }
    if case .set(let elements, _) = cell.content, !elements.isInOrder {
      return "the elements of column \(cell.column) are out of order"
    }
    if cell.content == .unset, cell.column >= covered {
      return "column \(cell.column) has a cell for nothing"
    }
    return nil
  }

  private func presenceError(_ deletes: DeleteRule, _ authors: Authors) -> String? {
    guard let presence, let deletion = presence.deletion else {
      return isDeleted ? "it is deleted by nobody" : nil
    }
    let isDeleted: Bool
    if deletes == .updateWins {
      isDeleted = presence.writes.allSatisfy { author, sequence in
        presence.covered[authors.ids[Int(author)]] >= sequence
      }
    } else {
      let last = presence.lastWrite ?? latestStamp(authors: authors)
      isDeleted = last.map { authors.isLess($0, deletion) || $0 == deletion } ?? true
    }
    return isDeleted == presence.isDeleted ? nil : "its presence says otherwise than its deletes"
  }

  /// The stamps that it holds, its own among them.
  package var everyStamp: [Stamp] {
    cells.flatMap { cell in
      switch cell.content {
      case .unset: [Stamp]()
      case .stamped(let stamp), .counter(_, let stamp), .extreme(_, let stamp), .set(_, let stamp),
        .text(_, let stamp):
        [stamp]
      case .presence(let presence): [presence.deletion, presence.lastWrite].compactMap { $0 }
      }
    } + (stamp == .zero ? [] : [stamp])
  }

  /// The newest operations of each replica that it names by number: all have to be here.
  ///
  /// - Throws: ``WireError`` where a text is damaged.
  package func namedOperations(authors: Authors) throws(WireError) -> VersionVector {
    var named = VersionVector()
    func name(_ replica: ReplicaID, _ sequence: UInt64) {
      named[replica] = max(named[replica], sequence)
    }
    for cell in cells {
      switch cell.content {
      case .unset, .stamped, .counter, .extreme: break
      case .set(let elements, _):
        for entry in elements.entries {
          for (replica, sequence) in entry.additions.sequences { name(replica, sequence) }
        }
        for (replica, sequence) in elements.arrived.sequences { name(replica, sequence) }
      case .text(let cell, _):
        for author in try cell.sequence().authors {
          // What a text began with is known by its content and by no operation.
          if let last = author.operations.last, last.sequence > 0 { name(author.id, last.sequence) }
        }
      case .presence(let presence):
        for (author, sequence) in presence.writes { name(authors.ids[Int(author)], sequence) }
      }
    }
    return named
  }

  /// The indices of the authors that it names; each has to be one.
  package var namedAuthors: [UInt32] {
    let shares = cells.flatMap { cell -> ArraySlice<CounterSum.Share> in
      if case .counter(let sum, _) = cell.content { sum.shares } else { [] }
    }
    return everyStamp.map(\.author) + shares.map(\.author)
      + (presence.map { Array($0.writes.keys) } ?? [])
  }
}

extension RowState.Content {
  /// Whether a column of that rule can hold it.
  package func isOf(_ kind: MergeRule.Kind) -> Bool {
    switch (self, kind) {
    case (.unset, _), (.stamped, .lastWriter), (.stamped, .order), (.counter, .counter),
      (.extreme, .maximum), (.extreme, .minimum), (.set, .set), (.text, .text):
      true
    default: false
    }
  }
}
