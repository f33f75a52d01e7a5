/// A rectangle in pixels, from the upper left.
struct Box: Hashable, Sendable {
  var x: Int
  var y: Int
  var width: Int
  var height: Int

  var centre: (x: Double, y: Double) {
    (Double(x) + Double(width) / 2, Double(y) + Double(height) / 2)
  }

  func union(_ other: Box) -> Box {
    let (left, top) = (min(x, other.x), min(y, other.y))
    return Box(
      x: left, y: top, width: max(x + width, other.x + other.width) - left,
      height: max(y + height, other.y + other.height) - top)
  }

  /// How much of the smaller one lies within the other, from 0 to 1.
  func overlap(_ other: Box) -> Double {
    let shared =
      max(0, min(x + width, other.x + other.width) - max(x, other.x))
      * max(0, min(y + height, other.y + other.height) - max(y, other.y))
    return Double(shared) / Double(max(1, min(width * height, other.width * other.height)))
  }
}

/// A word that was read off a photo.
struct SeenWord: Hashable, Sendable {
  var text: String
  /// Where it stands in the turned photo, in which it runs from left to right.
  var box: Box
  /// Where it stands in the photo as it came.
  var place: Box

  /// Whether both can be on one spine: in lines that are near each other, or below each other in a
  /// narrow column.
  func isBeside(_ other: SeenWord) -> Bool {
    let (centre, otherCentre) = (box.centre, other.box.centre)
    let height = Double(max(box.height, other.box.height))
    let away = abs(centre.y - otherCentre.y)
    if away <= 2.2 * height { return true }
    let width = Double(max(box.width, other.box.width))
    return away <= 6 * height && abs(centre.x - otherCentre.x) <= width / 2
  }
}

/// Each two words that stand close to one another in a line, as one: wide letters are read as words
/// of their own.
func joined(_ seen: [SeenWord]) -> [SeenWord] {
  seen.flatMap { left in
    seen.compactMap { right -> SeenWord? in
      let height = max(left.box.height, right.box.height)
      let gap = right.box.x - left.box.x - left.box.width
      guard left != right, abs(gap) <= height, left.text.count + right.text.count >= 5,
        abs(left.box.centre.y - right.box.centre.y) <= Double(height) / 2
      else { return nil }
      return SeenWord(
        text: left.text + right.text, box: left.box.union(right.box),
        place: left.place.union(right.place))
    }
  }
}
