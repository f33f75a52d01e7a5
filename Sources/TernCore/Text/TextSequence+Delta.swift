extension TextSequence {
  /// The change that does to this text what `delta` says; `nil` for none.
  package mutating func edit(_ delta: TextDelta) -> TextEdit? {
    numberInOrder()
    prepareIndex()
    linkAll()
    var edit = TextEdit()
    var walk = Walk(place: pieces[0].next)
    for step in delta.steps {
      switch step {
      case .keep(let count): walk.advance(count, in: pieces) { _, _, _ in }
      case .remove(let count):
        walk.advance(count, in: pieces) { author, rank, count in
          self.note(author, rank, count, in: &edit)
        }
      case .insert(let text):
        walk.passRemoved(in: pieces)
        let (parent, isBefore) = parent(at: walk)
        edit.inserted.append(
          .init(
            parent: parent, isBefore: isBefore, count: UInt32(scalarCount(text)),
            byteCount: UInt32(text.count)))
        edit.text.append(contentsOf: text)
      }
    }
    if edit.removed.isEmpty && edit.inserted.isEmpty { return nil }
    edit.removed.sort()
    edit.joinRemovals()
    return edit
  }

  /// A place between two elements: before `offset` of a piece, whose elements before it are passed.
  private struct Walk {
    var place: Int32
    var offset: UInt32 = 0
    /// The piece that was left last.
    var previous: Int32 = 0

    mutating func advance(
      _ count: Int, in pieces: ContiguousArray<TextSequence.Piece>,
      _ passing: (Int32, UInt32, UInt32) -> Void
    ) {
      var left = count
      while left > 0, place >= 0 {
        let piece = pieces[Int(place)]
        let available = Int(piece.count - offset)
        if !piece.isRemoved {
          let taken = min(left, available)
          passing(piece.author, piece.rank + offset, UInt32(taken))
          left -= taken
          if taken < available {
            offset += UInt32(taken)
            return
          }
        }
        previous = place
        place = piece.next
        offset = 0
      }
    }

    /// An insertion stands behind what was removed there, so that typing on behind a corrected
    /// letter goes on with its run.
    mutating func passRemoved(in pieces: ContiguousArray<TextSequence.Piece>) {
      while offset == 0, place >= 0, pieces[Int(place)].isRemoved {
        previous = place
        place = pieces[Int(place)].next
      }
    }
  }

  private func parent(at walk: Walk) -> (TextElementID?, isBefore: Bool) {
    if walk.offset > 0 {
      // Inside a run, of which the next element is the child behind the last one.
      let piece = pieces[Int(walk.place)]
      return (id(piece.author, piece.rank + walk.offset), true)
    }
    let left = pieces[Int(walk.previous)]
    let link =
      walk.previous == 0
      ? Self.start : Link(author: left.author, rank: left.last, isBefore: false)
    guard walk.place >= 0, index!.firstChild(link) != nil else {
      return (walk.previous == 0 ? nil : id(left.author, left.last), false)
    }
    let right = pieces[Int(walk.place)]
    return (id(right.author, right.rank), true)
  }

  /// Notes a removal, operation by operation.
  private func note(_ author: Int32, _ rank: UInt32, _ count: UInt32, in edit: inout TextEdit) {
    let entry = authors[Int(author)]
    var (rank, left) = (rank, count)
    var place = entry.place(ofRank: rank)
    while left > 0 {
      let operation = entry.operations[place]
      let taken = min(left, operation.first + operation.count - rank)
      edit.removed.append(
        .init(
          first: TextElementID(entry.id, operation.sequence, rank - operation.first),
          count: taken))
      rank += taken
      left -= taken
      place += 1
    }
  }
}

extension TextEdit {
  /// Of sorted removals, those that follow one another become one.
  fileprivate mutating func joinRemovals() {
    var joined: [Removal] = []
    for removal in removed {
      if let last = joined.last, last.first.author == removal.first.author,
        last.first.sequence == removal.first.sequence,
        last.first.offset + last.count == removal.first.offset
      {
        joined[joined.count - 1].count += removal.count
      } else {
        joined.append(removal)
      }
    }
    removed = joined
  }
}
