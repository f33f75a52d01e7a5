extension TextSequence {
  /// Takes in a change of one operation; a repeated one inserts nothing.
  ///
  /// What it removes and stands beside has to be here: a change that came before what its author
  /// had seen waits, and is taken in behind it. So the result does not depend on the order in which
  /// authors' changes come (INV-01).
  /// - Returns: whether the text changed.
  package mutating func apply(_ change: TextChange, by author: ReplicaID, _ sequence: UInt64)
    -> Bool
  {
    switch change {
    case .initial(let text):
      guard takeInitial(text) else { return false }
      _ = takeWaiting(for: [TextElementID(ContentName.of(text), 0, 0)])
      return true
    case .edit(let edit):
      let operation = TextElementID(author, sequence, 0)
      let missing = missing(edit)
      // One operation's changes are taken in as they came.
      guard missing.isEmpty, waiting[operation] == nil else {
        wait(operation, edit, for: missing)
        return false
      }
      let hasChanged = take(operation, edit)
      let hasFollowed = takeWaiting(for: [operation])
      return hasChanged || hasFollowed
    }
  }

  // MARK: - Inserting

  private mutating func takeInitial(_ text: [UInt8]) -> Bool {
    if text.isEmpty { return false }
    let author = authorIndex(ContentName.of(text))
    let count = scalarCount(text)
    guard authors[Int(author)].operations.first?.sequence != 0, hasRoom(author, UInt32(count))
    else { return false }
    prepareIndex()
    let first = makeRoom(author, 0, count: UInt32(count))
    insert(author, rank: first, count: UInt32(count), bytes: text[...], parent: Self.start)
    return true
  }

  /// Takes in a change of an operation that waits for nothing.
  mutating func take(_ operation: TextElementID, _ edit: TextEdit) -> Bool {
    prepareIndex()
    var hasChanged = false
    // Before the removals: an element of its own is none that it could remove.
    let author = authorIndex(operation.author)
    let isKnown = authors[Int(author)].has(operation.sequence)
    let ranks = edit.removed.map { rank($0.first)! }
    for (found, removal) in zip(ranks, edit.removed) {
      if remove(found.author, found.rank, count: removal.count) { hasChanged = true }
    }
    if isKnown || edit.inserted.isEmpty { return hasChanged }
    let total = edit.inserted.reduce(0) { $0 + $1.count }
    guard hasRoom(author, total) else { return hasChanged }
    var number = makeRoom(author, operation.sequence, count: total)
    var start = 0
    for insertion in edit.inserted {
      var parent = Self.start
      if let id = insertion.parent {
        let found = rank(id)!
        parent = Link(author: found.author, rank: found.rank, isBefore: insertion.isBefore)
      }
      let end = start + Int(insertion.byteCount)
      insert(
        author, rank: number, count: insertion.count, bytes: edit.text[start..<end],
        parent: parent)
      number += insertion.count
      start = end
    }
    return true
  }

  /// Whether the elements can be numbered. Who inserts so many means harm; any more are nowhere.
  private func hasRoom(_ author: Int32, _ count: UInt32) -> Bool {
    count < UInt32.max - authors[Int(author)].count
  }

  /// Numbers an operation's elements. One that was put aside comes behind later ones of its author,
  /// and is numbered behind them for now.
  /// - Returns: the first number.
  private mutating func makeRoom(_ author: Int32, _ sequence: UInt64, count: UInt32) -> UInt32 {
    let first = authors[Int(author)].count
    let place = authors[Int(author)].place(of: sequence)
    let isLate = place < authors[Int(author)].operations.count
    if isLate {
      // What was typed in one go over the operations around it is no longer one run of numbers.
      if place > 0 {
        let before = authors[Int(author)].operations[place - 1]
        let last = before.first + before.count - 1
        split(index!.place(author, last), behind: last)
      }
      if authors[Int(author)].arrivals.isEmpty {
        authors[Int(author)].arrivals = authors[Int(author)].operations
      }
    }
    if isLate || !authors[Int(author)].arrivals.isEmpty {
      authors[Int(author)].arrivals.append((sequence, first, count))
    }
    authors[Int(author)].operations.insert((sequence, first, count), at: place)
    authors[Int(author)].count += count
    return first
  }

  /// - Parameter bytes: `nil` of what is removed already.
  mutating func insert(
    _ author: Int32, rank: UInt32, count: UInt32, bytes: ArraySlice<UInt8>?, parent: Link
  ) {
    var beside = index!.place(parent.author, parent.rank)
    if let bytes, goesOn(beside, author, rank, parent) {
      pieces[Int(beside)].count += count
      pieces[Int(beside)].byteCount += Int32(bytes.count)
      return buffer.append(contentsOf: bytes)
    }
    let place = Int32(pieces.count)
    pieces.append(
      Piece(
        author: author, rank: rank, count: count, byteStart: Int32(buffer.count),
        byteCount: Int32(bytes?.count ?? 0), isRemoved: bytes == nil, parent: parent))
    buffer.append(contentsOf: bytes ?? [])
    // The parent has to end its piece, or to begin it.
    if parent.isBefore {
      if pieces[Int(beside)].rank < parent.rank {
        split(beside, behind: parent.rank - 1)
        beside = index!.place(parent.author, parent.rank)
      }
    } else if beside > 0, parent.rank < pieces[Int(beside)].last {
      split(beside, behind: parent.rank)
    }
    link(place, behind: previous(of: place, parent, beside))
    index!.add(place, (pieces, authors))
  }

  /// Whether new elements lengthen a piece: typing that goes on.
  private func goesOn(_ place: Int32, _ author: Int32, _ rank: UInt32, _ parent: Link) -> Bool {
    let piece = pieces[Int(place)]
    return place > 0 && !parent.isBefore && piece.author == author && piece.last == parent.rank
      && rank == piece.last + 1 && !piece.isRemoved && authors[Int(author)].arrivals.isEmpty
      && Int(piece.byteStart) + Int(piece.byteCount) == buffer.count
      && index!.firstChild(parent) == nil
  }

  /// The piece behind which a new one stands; `nil` where that is too far to walk.
  ///
  /// - Parameter beside: the one that its parent ends, or begins.
  private mutating func previous(of place: Int32, _ parent: Link, _ beside: Int32) -> Int32? {
    guard isLinked else { return nil }
    let siblings = index!.siblings(of: place, parent, (pieces, authors))
    if let before = siblings.before, !Planted.isActive(.textByArrival) {
      return outermost(before, isBefore: false)
    }
    guard parent.isBefore else { return beside }
    let next = siblings.after.map { outermost($0, isBefore: true) } ?? beside
    return next.map { pieces[Int($0)].previous }
  }

  private mutating func link(_ place: Int32, behind previous: Int32?) {
    guard isLinked, let previous else { return }
    let next = pieces[Int(previous)].next
    pieces[Int(place)].previous = previous
    pieces[Int(place)].next = next
    pieces[Int(previous)].next = place
    if next >= 0 { pieces[Int(next)].previous = place }
  }

  /// The first or the last of a piece and all that stands beside it, before or behind.
  ///
  /// - Returns: `nil` where it took more steps, one walk with another, than to link all anew.
  private mutating func outermost(_ place: Int32, isBefore: Bool) -> Int32? {
    var place = place
    while true {
      let piece = pieces[Int(place)]
      let link = Link(
        author: piece.author, rank: isBefore ? piece.rank : piece.last, isBefore: isBefore)
      guard let child = isBefore ? index!.firstChild(link) : index!.lastChild(link) else {
        return place
      }
      stepCount += 1
      if stepCount > 1000 + 8 * pieces.count {
        isLinked = false
        return nil
      }
      place = child
    }
  }

  // MARK: - Pieces

  mutating func prepareIndex() {
    if index == nil { index = TextIndex((pieces, authors)) }
  }

  /// Makes two pieces of one.
  mutating func split(_ place: Int32, behind rank: UInt32) {
    let piece = pieces[Int(place)]
    guard place > 0, rank >= piece.rank, rank < piece.last else { return }
    let count = rank - piece.rank + 1
    var rest = piece
    rest.rank = rank + 1
    rest.count = piece.count - count
    rest.parent = Link(author: piece.author, rank: rank, isBefore: false)
    if !piece.isRemoved {
      let bytes = byteCount(of: piece, first: Int(count))
      rest.byteStart += Int32(bytes)
      rest.byteCount -= Int32(bytes)
      pieces[Int(place)].byteCount = Int32(bytes)
    }
    pieces[Int(place)].count = count
    let new = Int32(pieces.count)
    pieces.append(rest)
    link(new, behind: place)
    index!.add(new, (pieces, authors))
  }

  /// How many bytes the first elements of a piece have, counted from the nearer end: cutting one
  /// again and again costs no more than halving it does.
  private func byteCount(of piece: Piece, first count: Int) -> Int {
    if piece.byteCount == piece.count { return count }
    let start = Int(piece.byteStart)
    var (left, place) = (Int(piece.count) - count, start + Int(piece.byteCount))
    if left > count { return (buffer.index(start, scalars: count) ?? place) - start }
    while left > 0 {
      place -= 1
      if buffer[place] & 0xC0 != 0x80 { left -= 1 }
    }
    return place - start
  }

  mutating func remove(_ author: Int32, _ rank: UInt32, count: UInt32) -> Bool {
    var hasChanged = false
    var rank = rank
    let end = rank + count
    var passed: [Int32] = []
    while rank < end {
      var place = index!.place(author, rank)
      if pieces[Int(place)].isRemoved {
        passed.append(place)
        rank = index!.removedEnds[place] ?? pieces[Int(place)].last + 1
        continue
      }
      if pieces[Int(place)].rank < rank {
        split(place, behind: rank - 1)
        place = index!.place(author, rank)
      }
      split(place, behind: end - 1)
      pieces[Int(place)].isRemoved = true
      pieces[Int(place)].byteCount = 0
      hasChanged = true
      let next = Int(pieces[Int(place)].next)
      if Planted.isActive(.removalTakesNeighbour), next > 0, pieces[next].author != author {
        pieces[next].isRemoved = true
        pieces[next].byteCount = 0
      }
      rank = pieces[Int(place)].last + 1
    }
    // The next removal of all these takes one step.
    if passed.count > 1 { for place in passed { index!.removedEnds[place] = rank } }
    return hasChanged
  }
}
