/// The state of a `.text` column: its elements in their order, those that were removed included.
///
/// Elements are the nodes of a tree: each is a child of the element beside which it was inserted,
/// before or behind it, and children on one side stand in the order of their ids. Reading the tree
/// from left to right gives the text. The order follows from the elements alone, and what one
/// replica typed in one go is one subtree, which nobody else's typing comes between.
///
/// - Source: Weidner and Kleppmann, The Art of the Fugue, arXiv:2305.00583. Runs in a list, ids by
///   rank and changes that wait for what they build on are ours.
package struct TextSequence: Sendable {
  /// Elements of one author with ranks one after another, each but the first the child behind the
  /// one before, and all removed or none.
  struct Piece {
    var author: Int32
    var rank: UInt32
    var count: UInt32
    /// In ``TextSequence/buffer``; nothing of what was removed.
    var byteStart: Int32 = 0
    var byteCount: Int32 = 0
    var isRemoved: Bool
    /// Of the first element.
    var parent: Link
    var previous: Int32 = -1
    var next: Int32 = -1

    var last: UInt32 { rank + count - 1 }
  }

  /// A side of an element.
  struct Link: Hashable {
    var author: Int32
    var rank: UInt32
    var isBefore: Bool
  }

  /// What one author inserted. Elements are numbered in the order of (sequence, offset), so that
  /// what was typed over many operations is one run.
  struct Author {
    let id: ReplicaID
    /// In ascending order; each with the rank of its first element.
    var operations: [Operation] = []
    var count: UInt32 = 0
    /// All in the order of their ranks, where one came behind a later one and is numbered behind
    /// it; otherwise empty. See ``TextSequence/numberInOrder()``.
    var arrivals: [Operation] = []

    typealias Operation = (sequence: UInt64, first: UInt32, count: UInt32)
  }

  /// In no order; the first stands for the text's beginning.
  var pieces: ContiguousArray<Piece> = [
    Piece(author: -1, rank: 0, count: 1, isRemoved: true, parent: start)
  ]
  /// Whether the pieces' links have all of them. To link one whose place is far in the tree takes
  /// many steps; where there are many of these, the tree tells the order when it is asked for.
  var isLinked = true
  /// How many steps linking has taken.
  var stepCount = 0
  var authors: [Author] = []
  var authorIndices: [ReplicaID: Int32] = [:]
  var buffer: [UInt8] = []
  /// Changes that build on elements which are not here yet, by the name of their operation's first
  /// element; those of one operation as they came.
  var waiting: [TextElementID: [TextEdit]] = [:]
  /// Made when a change needs it.
  var waits: TextWaits?
  /// Made when a change needs it.
  var index: TextIndex?

  /// The side of the text's beginning that has children.
  static let start = Link(author: -1, rank: 0, isBefore: false)

  package init() {}

  /// The text, in UTF-8.
  package var text: [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(buffer.count)
    forEachPiece { piece in
      if piece.isRemoved { return }
      let start = Int(piece.byteStart)
      text.append(contentsOf: buffer[start..<start + Int(piece.byteCount)])
    }
    return text
  }

  /// How many bytes ``text`` has.
  var textByteCount: Int { pieces.reduce(0) { $0 + Int($1.byteCount) } }

  /// Whether the text shows anything that an operation inserted.
  package func shows(_ author: ReplicaID, _ sequence: UInt64) -> Bool {
    guard let first = rank(TextElementID(author, sequence, 0)) else { return false }
    let entry = authors[Int(first.author)]
    let end = first.rank + entry.operations[entry.place(of: sequence)].count
    return pieces.contains {
      !$0.isRemoved && $0.author == first.author && $0.rank < end && $0.last >= first.rank
    }
  }

  /// Whether the text shows anything of one that it began with.
  package func shows(initial text: [UInt8]) -> Bool {
    shows(ContentName.of(text), 0)
  }

  /// In the order of the text.
  func forEachPiece(_ body: (Piece) throws -> Void) rethrows {
    guard isLinked else {
      for place in order { try body(pieces[Int(place)]) }
      return
    }
    var place = pieces[0].next
    while place >= 0 {
      try body(pieces[Int(place)])
      place = pieces[Int(place)].next
    }
  }

  private var order: [Int32] {
    (index ?? TextIndex((pieces, authors))).walk((pieces, authors))
  }

  mutating func linkAll() {
    if isLinked { return }
    (isLinked, stepCount) = (true, 0)
    var last: Int32 = 0
    for place in order {
      pieces[Int(last)].next = place
      pieces[Int(place)].previous = last
      last = place
    }
    pieces[Int(last)].next = -1
  }

  // MARK: - Ids

  /// The rank of an element that is here.
  func rank(_ id: TextElementID) -> (author: Int32, rank: UInt32)? {
    guard let author = authorIndices[id.author] else { return nil }
    let entry = authors[Int(author)]
    let place = entry.place(of: id.sequence)
    guard place < entry.operations.count, entry.operations[place].sequence == id.sequence else {
      return nil
    }
    guard id.offset < entry.operations[place].count else { return nil }
    return (author, entry.operations[place].first + id.offset)
  }

  func id(_ author: Int32, _ rank: UInt32) -> TextElementID {
    let entry = authors[Int(author)]
    let operation = entry.operations[entry.place(ofRank: rank)]
    return TextElementID(entry.id, operation.sequence, rank - operation.first)
  }

  mutating func authorIndex(_ id: ReplicaID) -> Int32 {
    if let known = authorIndices[id] { return known }
    authors.append(Author(id: id))
    authorIndices[id] = Int32(authors.count - 1)
    return Int32(authors.count - 1)
  }
}

extension TextSequence.Author {
  /// The first operation with at least this sequence.
  func place(of sequence: UInt64) -> Int {
    var (low, high) = (0, operations.count)
    while low < high {
      let middle = (low + high) / 2
      if operations[middle].sequence < sequence { low = middle + 1 } else { high = middle }
    }
    return low
  }

  func has(_ sequence: UInt64) -> Bool {
    let place = place(of: sequence)
    return place < operations.count && operations[place].sequence == sequence
  }

  /// The operation that inserted the element with this rank, where all are numbered in order.
  func place(ofRank rank: UInt32) -> Int { Self.place(ofRank: rank, operations) }

  static func place(ofRank rank: UInt32, _ operations: [Operation]) -> Int {
    var (low, high) = (0, operations.count - 1)
    while low < high {
      let middle = (low + high + 1) / 2
      if operations[middle].first <= rank { low = middle } else { high = middle - 1 }
    }
    return low
  }

  /// Of two elements, whether the first is before the second in the order of (sequence, offset).
  func isOrdered(_ left: UInt32, _ right: UInt32) -> Bool {
    if arrivals.isEmpty { return left < right }
    let (first, second) = (
      arrivals[Self.place(ofRank: left, arrivals)], arrivals[Self.place(ofRank: right, arrivals)]
    )
    return first.sequence == second.sequence ? left < right : first.sequence < second.sequence
  }
}
