extension TextSequence {
  /// Elements of one operation that follow one another, in a piece of another sequence.
  private struct Run {
    var first: TextElementID
    var count: UInt32
    var parent: Link
    /// `nil` where they were removed, and nobody knows any more what they were.
    var bytes: ArraySlice<UInt8>?
  }

  /// Takes in what another state of the same text has: elements, removals, and changes that wait.
  ///
  /// - Throws: ``WireError`` where both have an operation and not the same elements of it, as of
  ///   two copies of a database that wrote on; and for more elements than can be numbered.
  package mutating func join(_ other: TextSequence) throws(WireError) {
    let other = other.inOrder
    numberInOrder()
    prepareIndex()
    let missing = try makeRoom(for: other)
    if !missing.isEmpty { other.forEachParentFirst { insert($0, of: other, missing) } }
    for piece in other.pieces.dropFirst() where piece.isRemoved {
      for run in other.runs(of: piece) {
        if let found = rank(run.first) { _ = remove(found.author, found.rank, count: run.count) }
      }
    }
    let known = waiting
    for operation in other.waitingOperations {
      for edit in other.waiting[operation] ?? [] where !(known[operation] ?? []).contains(edit) {
        _ = apply(.edit(edit), by: operation.author, operation.sequence)
      }
    }
    _ = takeWaiting()
  }

  /// Numbers the elements of the operations that only the other one has, and gives the first of
  /// each.
  private mutating func makeRoom(for other: TextSequence) throws(WireError) -> Set<TextElementID> {
    var missing: Set<TextElementID> = []
    var hasMoved = false
    for entry in other.authors {
      let author = authorIndex(entry.id)
      var operations: [(sequence: UInt64, count: UInt32, isNew: Bool)] = []
      for (sequence, count) in entry.counts {
        let place = authors[Int(author)].place(of: sequence)
        let isKnown =
          place < authors[Int(author)].operations.count
          && authors[Int(author)].operations[place].sequence == sequence
        if isKnown {
          let here = authors[Int(author)]
          guard here.end(of: place) - here.operations[place].first == count else {
            throw WireError(.malformed, "text of two copies")
          }
        } else {
          operations.append((sequence, count, true))
          missing.insert(TextElementID(entry.id, sequence, 0))
        }
      }
      if operations.isEmpty { continue }
      for (sequence, count) in authors[Int(author)].counts {
        operations.append((sequence, count, false))
      }
      operations.sort { $0.sequence < $1.sequence }
      if try number(operations, of: author) { hasMoved = true }
    }
    if hasMoved { index = TextIndex((pieces, authors)) }
    return missing
  }

  /// - Returns: whether elements that were there have other numbers now.
  private mutating func number(
    _ operations: [(sequence: UInt64, count: UInt32, isNew: Bool)], of author: Int32
  ) throws(WireError) -> Bool {
    /// From which number on elements that were there move, and by how much.
    var moves: [(from: UInt32, by: UInt32)] = []
    var (all, next, old): ([Author.Operation], UInt32, UInt32) = ([], 0, 0)
    for operation in operations {
      all.append((operation.sequence, next, operation.count))
      guard operation.count < UInt32.max - next else {
        throw WireError(.tooLarge, "text elements")
      }
      next += operation.count
      if operation.isNew { continue }
      let by = next - operation.count - old
      if by > moves.last?.by ?? 0 { moves.append((old, by)) }
      old += operation.count
    }
    for move in moves where move.from > 0 {
      split(index!.place(author, move.from - 1), behind: move.from - 1)
    }
    (authors[Int(author)].operations, authors[Int(author)].count) = (all, next)
    if moves.isEmpty { return false }
    func moved(_ rank: UInt32) -> UInt32 {
      var (low, high) = (0, moves.count)
      while low < high {
        let middle = (low + high) / 2
        if moves[middle].from <= rank { low = middle + 1 } else { high = middle }
      }
      return low == 0 ? rank : rank + moves[low - 1].by
    }
    for place in pieces.indices.dropFirst() {
      if pieces[place].author == author { pieces[place].rank = moved(pieces[place].rank) }
      if pieces[place].parent.author == author {
        pieces[place].parent.rank = moved(pieces[place].parent.rank)
      }
    }
    return true
  }

  private mutating func insert(
    _ piece: Piece, of other: TextSequence, _ missing: Set<TextElementID>
  ) {
    for run in other.runs(of: piece) {
      guard missing.contains(TextElementID(run.first.author, run.first.sequence, 0)),
        let (author, rank) = rank(run.first)
      else { continue }
      var parent = run.parent
      if parent.author >= 0 {
        (parent.author, parent.rank) = self.rank(other.id(parent.author, parent.rank))!
      }
      insert(author, rank: rank, count: run.count, bytes: run.bytes, parent: parent)
    }
  }

  /// The pieces, each behind the one that its first element is a child of.
  private func forEachParentFirst(_ body: (Piece) -> Void) {
    let index = index ?? TextIndex((pieces, authors))
    var isDone = Array(repeating: false, count: pieces.count)
    isDone[0] = true
    for place in pieces.indices.dropFirst() {
      var chain: [Int] = []
      var next = place
      while !isDone[next] {
        isDone[next] = true
        chain.append(next)
        let parent = pieces[next].parent
        next = Int(index.place(parent.author, parent.rank))
      }
      for place in chain.reversed() { body(pieces[place]) }
    }
  }

  /// A piece, cut where another operation begins.
  private func runs(of piece: Piece) -> [Run] {
    let entry = authors[Int(piece.author)]
    var runs: [Run] = []
    var (rank, start) = (piece.rank, Int(piece.byteStart))
    while rank <= piece.last {
      let place = entry.place(ofRank: rank)
      let end = min(entry.end(of: place), piece.last + 1)
      var run = Run(
        first: id(piece.author, rank), count: end - rank,
        parent: rank == piece.rank
          ? piece.parent : Link(author: piece.author, rank: rank - 1, isBefore: false))
      if !piece.isRemoved {
        let next = buffer.index(start, scalars: Int(end - rank)) ?? buffer.count
        run.bytes = buffer[start..<next]
        start = next
      }
      runs.append(run)
      rank = end
    }
    return runs
  }
}

extension TextSequence.Author {
  /// The number behind an operation's last element.
  fileprivate func end(of place: Int) -> UInt32 {
    operations[place].first + operations[place].count
  }

  /// How many elements each operation inserted.
  fileprivate var counts: [(sequence: UInt64, count: UInt32)] {
    operations.map { ($0.sequence, $0.count) }
  }
}
