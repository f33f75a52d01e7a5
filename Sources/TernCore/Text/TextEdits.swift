/// Edits of one text, one after another, with what they come to in the end.
///
/// The text is a row of pieces, of the text before and of what was inserted, on both sides of the
/// place that was edited last: what is typed on there costs the same in texts of any length.
package struct TextEdits: Hashable, Sendable {
  private struct Piece: Hashable, Sendable {
    /// Of what was inserted, and not of the text before.
    var isNew: Bool
    /// In scalars of the text before, or in bytes of ``TextEdits/inserted``.
    var start: Int
    var count: Int
    var byteCount: Int
  }

  /// Up to the place that was edited last, and from there on, the nearest piece last in both.
  private var before: [Piece] = []
  private var after: [Piece] = []
  private var inserted: [UInt8] = []
  private var place = 0
  private let oldCount: Int

  /// The text's length in Unicode scalars.
  package private(set) var count: Int

  /// - Parameter count: of the text before, in Unicode scalars.
  package init(count: Int) {
    self.count = count
    oldCount = count
    if count > 0 { after = [Piece(isNew: false, start: 0, count: count, byteCount: 0)] }
  }

  /// Puts valid UTF-8 in place of a range within the text.
  package mutating func replace(_ range: Range<Int>, with text: String) {
    move(to: range.lowerBound)
    if !range.isEmpty { remove(range.count) }
    if !text.isEmpty { insert(text) }
  }

  private mutating func insert(_ text: String) {
    let start = inserted.count
    inserted.append(contentsOf: text.utf8)
    let byteCount = inserted.count - start
    var scalars = byteCount
    for byte in inserted[start...] where byte & 0xC0 == 0x80 { scalars -= 1 }
    if let last = before.last, last.isNew, last.start + last.byteCount == start {
      before[before.count - 1].count += scalars
      before[before.count - 1].byteCount += byteCount
    } else {
      before.append(Piece(isNew: true, start: start, count: scalars, byteCount: byteCount))
    }
    place += scalars
    count += scalars
  }

  private mutating func remove(_ removed: Int) {
    var left = removed
    count -= removed
    while left > 0 {
      var piece = after.removeLast()
      if piece.count > left {
        after.append(dropFirst(left, of: &piece))
        left = 0
      } else {
        left -= piece.count
      }
      // What was typed and taken back leaves nothing.
      if piece.isNew, piece.start + piece.byteCount == inserted.count {
        inserted.removeLast(piece.byteCount)
      }
    }
  }

  private mutating func move(to target: Int) {
    while place > target {
      var piece = before.removeLast()
      if place - piece.count < target {
        after.append(dropFirst(target - place + piece.count, of: &piece))
        before.append(piece)
        place = target
      } else {
        after.append(piece)
        place -= piece.count
      }
    }
    while place < target {
      var piece = after.removeLast()
      if place + piece.count > target {
        after.append(dropFirst(target - place, of: &piece))
      }
      before.append(piece)
      place += piece.count
    }
  }

  /// Cuts a piece behind `count` scalars, and gives the rest.
  private func dropFirst(_ count: Int, of piece: inout Piece) -> Piece {
    var rest = piece
    rest.count -= count
    piece.count = count
    if piece.isNew {
      var bytes = count
      if rest.byteCount != rest.count + count {
        bytes = inserted.index(piece.start, scalars: count) ?? inserted.count
        bytes -= piece.start
      }
      piece.byteCount = bytes
      rest.start += bytes
      rest.byteCount -= bytes
    } else {
      rest.start += count
    }
    return rest
  }

  /// What the edits come to.
  package var delta: TextDelta {
    var delta = TextDelta()
    var old = 0
    let take = { (delta: inout TextDelta, piece: Piece) in
      if piece.isNew {
        delta.insert(inserted[piece.start..<piece.start + piece.byteCount])
      } else {
        delta.remove(piece.start - old)
        delta.keep(piece.count)
        old = piece.start + piece.count
      }
    }
    for piece in before { take(&delta, piece) }
    for piece in after.reversed() { take(&delta, piece) }
    delta.remove(oldCount - old)
    delta.finish()
    return delta
  }
}
