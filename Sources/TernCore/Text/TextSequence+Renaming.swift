extension TextSequence {
  /// Gives what an author inserted after some number to the author whose operations those are now.
  ///
  /// The text stays as it is where no id of an author is between the two.
  mutating func rename(_ renaming: Renaming) {
    guard let old = authorIndices[renaming.old] else { return }
    numberInOrder()
    let entry = authors[Int(old)]
    let place = entry.place(of: renaming.last + 1)
    guard place < entry.operations.count else { return }
    let first = entry.operations[place].first
    prepareIndex()
    if first > 0 { split(index!.place(old, first - 1), behind: first - 1) }
    let new = authorIndex(renaming.new)
    authors[Int(new)].operations = entry.operations[place...].map {
      ($0.sequence - renaming.last, $0.first - first, $0.count)
    }
    authors[Int(new)].count = entry.count - first
    authors[Int(old)].operations.removeSubrange(place...)
    authors[Int(old)].count = first
    for place in pieces.indices.dropFirst() {
      if pieces[place].author == old, pieces[place].rank >= first {
        (pieces[place].author, pieces[place].rank) = (new, pieces[place].rank - first)
      }
      let parent = pieces[place].parent
      if parent.author == old, parent.rank >= first {
        pieces[place].parent = Link(
          author: new, rank: parent.rank - first, isBefore: parent.isBefore)
      }
    }
    index = nil
  }
}
