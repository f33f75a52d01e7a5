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
  package mutating func join(_ other: TextSequence) {
    prepareIndex()
    let missing = makeRoom(for: other)
    if !missing.isEmpty { other.forEachParentFirst { insert($0, of: other, missing) } }
    for piece in other.pieces.dropFirst() where piece.isRemoved {
      for run in other.runs(of: piece) {
        if let found = rank(run.first) { _ = remove(found.author, found.rank, count: run.count) }
      }
    }
    for entry in other.waiting where !waiting.contains(entry) {
      _ = apply(.edit(entry.edit), by: entry.author, entry.sequence)
    }
    _ = takeWaiting()
  }

  /// Numbers the elements of the operations that only the other one has, and gives the first of
  /// each.
  private mutating func makeRoom(for other: TextSequence) -> Set<TextElementID> {
    var missing: Set<TextElementID> = []
    for entry in other.authors {
      let author = authorIndex(entry.id)
      // From the last: what stands before it is then here.
      for place in entry.operations.indices.reversed() {
        let id = TextElementID(entry.id, entry.operations[place].sequence, 0)
        let count = entry.end(of: place) - entry.operations[place].first
        guard rank(id) == nil, hasRoom(author, count) else { continue }
        makeRoom(author, id.sequence, count: count)
        missing.insert(id)
      }
    }
    return missing
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
        guard let found = self.rank(other.id(parent.author, parent.rank)) else { continue }
        (parent.author, parent.rank) = found
      }
      insert(
        author, rank: rank, count: run.count,
        bytes: run.bytes ?? Array(repeating: UInt8(ascii: " "), count: Int(run.count))[...],
        parent: parent)
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
        let next =
          Int(piece.byteStart) + byteCount(of: piece, first: Int(end - piece.rank))
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
    place + 1 < operations.count ? operations[place + 1].first : count
  }
}
