extension TextSequence {
  /// Numbers all elements in the order of (sequence, offset), where some came late.
  ///
  /// To do so for each that comes late would cost all that are there, each time. What is needed in
  /// between, which of two is first, the operations say.
  mutating func numberInOrder() {
    let late = authors.indices.filter { !authors[$0].arrivals.isEmpty }
    if late.isEmpty { return }
    /// Of each late author, in the order of the numbers that were, those that are.
    var firsts: [Int: [UInt32]] = [:]
    for author in late {
      var next: UInt32 = 0
      for place in authors[author].operations.indices {
        let count = authors[author].operations[place].count
        authors[author].operations[place].first = next
        next += count
      }
      let entry = authors[author]
      firsts[author] = entry.arrivals.map { entry.operations[entry.place(of: $0.sequence)].first }
    }
    func moved(_ author: Int32, _ rank: UInt32) -> UInt32 {
      guard let firsts = firsts[Int(author)] else { return rank }
      let arrivals = authors[Int(author)].arrivals
      let place = Author.place(ofRank: rank, arrivals)
      return firsts[place] + (rank - arrivals[place].first)
    }
    for place in pieces.indices.dropFirst() {
      let piece = pieces[place]
      pieces[place].rank = moved(piece.author, piece.rank)
      pieces[place].parent.rank = moved(piece.parent.author, piece.parent.rank)
    }
    for author in late { authors[author].arrivals = [] }
    index = nil
  }

  /// The same, numbered in order.
  var inOrder: TextSequence {
    var copy = self
    copy.numberInOrder()
    return copy
  }
}
