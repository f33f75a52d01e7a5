/// Where the elements of a ``TextSequence`` are, and the children of those that have some.
struct TextIndex: Sendable {
  /// Of each author the pieces by rank.
  private var ranks: [[UInt32]]
  private var places: [[Int32]]
  /// Pieces whose first element is a child there, in the order of their ids. What a piece's
  /// elements are to each other is not in it.
  private var children: [TextSequence.Link: Children] = [:]

  /// Of pieces that were removed, the rank up to which their author's elements behind them are too.
  var removedEnds: [Int32: UInt32] = [:]

  private struct Children {
    var first: Int32
    var others: [Int32] = []

    var last: Int32 { others.last ?? first }
    var count: Int { others.count + 1 }
    subscript(index: Int) -> Int32 { index == 0 ? first : others[index - 1] }

    mutating func sort(by isOrdered: (Int32, Int32) -> Bool) {
      let sorted = ([first] + others).sorted(by: isOrdered)
      (first, others) = (sorted[0], Array(sorted.dropFirst()))
    }
  }

  /// What an index is of: parts of a sequence that do not contain it.
  typealias Source = (
    pieces: ContiguousArray<TextSequence.Piece>, authors: [TextSequence.Author]
  )

  init(_ sequence: Source) {
    ranks = Array(repeating: [], count: sequence.authors.count)
    places = ranks.map { _ in [] }
    var byAuthor = places
    for place in sequence.pieces.indices.dropFirst() {
      byAuthor[Int(sequence.pieces[place].author)].append(Int32(place))
    }
    for author in byAuthor.indices {
      places[author] = byAuthor[author].sorted {
        sequence.pieces[Int($0)].rank < sequence.pieces[Int($1)].rank
      }
      ranks[author] = places[author].map { sequence.pieces[Int($0)].rank }
    }
    children.reserveCapacity(sequence.pieces.count)
    for place in sequence.pieces.indices.dropFirst() {
      let link = sequence.pieces[place].parent
      if let known = children.index(forKey: link) {
        children.values[known].others.append(Int32(place))
      } else {
        children[link] = Children(first: Int32(place))
      }
    }
    // At once: a peer's may be any number, in any order.
    var known = children.startIndex
    while known != children.endIndex {
      if children.values[known].count > 1 {
        children.values[known].sort { Self.isOrdered($0, $1, sequence) }
      }
      children.formIndex(after: &known)
    }
  }

  mutating func add(_ place: Int32, _ sequence: Source) {
    addPlace(place, sequence.pieces[Int(place)])
    addChild(place, sequence)
  }

  private mutating func addPlace(_ place: Int32, _ piece: TextSequence.Piece) {
    let author = Int(piece.author)
    while ranks.count <= author {
      ranks.append([])
      places.append([])
    }
    let at = position(of: piece.rank, author)
    ranks[author].insert(piece.rank, at: at)
    places[author].insert(place, at: at)
  }

  /// The first piece of an author with at least this rank.
  private func position(of rank: UInt32, _ author: Int) -> Int {
    var (low, high) = (0, ranks[author].count)
    while low < high {
      let middle = (low + high) / 2
      if ranks[author][middle] < rank { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The piece that has an element which is here.
  func place(_ author: Int32, _ rank: UInt32) -> Int32 {
    if author < 0 { return 0 }
    let found = position(of: rank, Int(author))
    if found < ranks[Int(author)].count, ranks[Int(author)][found] == rank {
      return places[Int(author)][found]
    }
    return places[Int(author)][found - 1]
  }

  // MARK: - Children

  private mutating func addChild(_ place: Int32, _ sequence: Source) {
    let link = sequence.pieces[Int(place)].parent
    guard let found = children[link] else {
      children[link] = Children(first: place)
      return
    }
    let position = position(of: place, among: found, sequence)
    if position > 0 {
      children[link]!.others.insert(place, at: position - 1)
    } else {
      children[link]!.others.insert(found.first, at: 0)
      children[link]!.first = place
    }
  }

  private func position(of place: Int32, among found: Children, _ sequence: Source) -> Int {
    var (low, high) = (0, found.count)
    while low < high {
      let middle = (low + high) / 2
      if Self.isOrdered(found[middle], place, sequence) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Whether the first stands before the second, both children on one side of one element.
  private static func isOrdered(_ left: Int32, _ right: Int32, _ sequence: Source) -> Bool {
    let (left, right) = (sequence.pieces[Int(left)], sequence.pieces[Int(right)])
    if left.author == right.author {
      return sequence.authors[Int(left.author)].isOrdered(left.rank, right.rank)
    }
    return sequence.authors[Int(left.author)].id < sequence.authors[Int(right.author)].id
  }

  /// The pieces in the order of the tree, as far as it hangs together.
  func walk(_ sequence: Source) -> [Int32] {
    var order: [Int32] = []
    var stack: [(place: Int32, isEntered: Bool)] = [(0, true)]
    while let (place, isEntered) = stack.popLast() {
      let piece = sequence.pieces[Int(place)]
      var link = TextSequence.start
      if place > 0 {
        link = .init(
          author: piece.author, rank: isEntered ? piece.last : piece.rank, isBefore: !isEntered)
      }
      if isEntered, place > 0 { order.append(place) }
      if !isEntered { stack.append((place, true)) }
      guard let found = children[link] else { continue }
      for index in (0..<found.count).reversed() { stack.append((found[index], false)) }
    }
    return order
  }

  func firstChild(_ link: TextSequence.Link) -> Int32? { children[link]?.first }
  func lastChild(_ link: TextSequence.Link) -> Int32? { children[link]?.last }

  /// Between which children of `link` a new one stands.
  func siblings(of place: Int32, _ link: TextSequence.Link, _ sequence: Source)
    -> (before: Int32?, after: Int32?)
  {
    guard let found = children[link] else { return (nil, nil) }
    let position = position(of: place, among: found, sequence)
    return (
      position > 0 ? found[position - 1] : nil, position < found.count ? found[position] : nil
    )
  }
}
