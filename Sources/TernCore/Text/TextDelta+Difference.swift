extension TextDelta {
  /// How `old` becomes `new`, both UTF-8, by few edits. What both have at the beginning and at the
  /// end is kept; between, scalar by scalar where few differ, or else line by line; and what is too
  /// different for that is replaced whole.
  ///
  /// - Complexity: a few million steps beyond the texts' lengths.
  /// - Source: Myers, An O(ND) difference algorithm and its variations, 1986.
  package init(from old: [UInt8], to new: [UInt8]) {
    self.init(old, new) { old, new, delta in
      var difference = Difference(delta: delta)
      difference.compare(scalars(old)[...], scalars(new)[...], byLine: true)
      delta = difference.delta
    }
  }

  /// How `old` becomes `new` when everything between what both have at the beginning and at the end
  /// is replaced.
  package init(replacing old: [UInt8], by new: [UInt8]) {
    self.init(old, new) { old, new, delta in
      delta.remove(scalarCount(old))
      delta.insert(new)
    }
  }

  private init(
    _ old: [UInt8], _ new: [UInt8],
    _ between: (ArraySlice<UInt8>, ArraySlice<UInt8>, inout TextDelta) -> Void
  ) {
    self.init()
    let least = min(old.count, new.count)
    var before = 0
    while before < least, old[before] == new[before] { before += 1 }
    while old.isInsideScalar(before) || new.isInsideScalar(before) { before -= 1 }
    var after = 0
    while after < least - before, old[old.count - after - 1] == new[new.count - after - 1] {
      after += 1
    }
    while old.isInsideScalar(old.count - after) { after -= 1 }
    keep(scalarCount(old[..<before]))
    between(old[before..<old.count - after], new[before..<new.count - after], &self)
    finish()
  }
}

extension [UInt8] {
  /// Whether a scalar's bytes are on both sides of a place.
  fileprivate func isInsideScalar(_ place: Int) -> Bool {
    place < count && self[place] & 0xC0 == 0x80
  }
}

private func scalars(_ text: ArraySlice<UInt8>) -> [UInt32] {
  var result: [UInt32] = []
  result.reserveCapacity(text.count)
  for scalar in String(decoding: text, as: UTF8.self).unicodeScalars { result.append(scalar.value) }
  return result
}

private struct Difference {
  typealias Scalars = ArraySlice<UInt32>

  var delta = TextDelta()

  /// The most edits that are looked for, and the fewest scalars between two that are worth keeping.
  private static let editLimit = 400
  private static let worthKeeping = 4

  mutating func compare(_ old: Scalars, _ new: Scalars, byLine: Bool) {
    var (old, new) = (old, new)
    while let scalar = old.first, scalar == new.first {
      delta.keep(1)
      old = old.dropFirst()
      new = new.dropFirst()
    }
    var kept = 0
    while let scalar = old.last, scalar == new.last {
      kept += 1
      old = old.dropLast()
      new = new.dropLast()
    }
    if old.isEmpty || new.isEmpty {
      replace(old, by: new)
    } else if let matches = Self.matches(Array(old), Array(new)) {
      keep(Self.worthwhile(matches, old.count, new.count), old, new)
    } else if byLine {
      compareLines(old, new)
    } else {
      replace(old, by: new)
    }
    delta.keep(kept)
  }

  private mutating func replace(_ old: Scalars, by new: Scalars) {
    delta.remove(old.count)
    var text = String.UnicodeScalarView()
    for scalar in new { text.append(Unicode.Scalar(scalar) ?? "\u{FFFD}") }
    delta.insert(Array(String(text).utf8))
  }

  private mutating func keep(_ matches: [Match], _ old: Scalars, _ new: Scalars) {
    var (left, right) = (old.startIndex, new.startIndex)
    for match in matches {
      replace(
        old[left..<old.startIndex + match.old], by: new[right..<new.startIndex + match.new])
      delta.keep(match.count)
      left = old.startIndex + match.old + match.count
      right = new.startIndex + match.new + match.count
    }
    replace(old[left...], by: new[right...])
  }

  /// A few letters that happen to stand in both, between larger edits, are no part that was kept:
  /// beside somebody else's edit they would tear one's own apart.
  private static func worthwhile(_ matches: [Match], _ old: Int, _ new: Int) -> [Match] {
    var kept: [Match] = []
    var (left, right) = (0, 0)
    for (index, match) in matches.enumerated() {
      let before = max(match.old - left, match.new - right)
      let next =
        index + 1 < matches.count ? matches[index + 1] : Match(old: old, new: new, count: 0)
      let after = max(next.old - match.old, next.new - match.new) - match.count
      if match.count < worthKeeping, before >= match.count, after >= match.count { continue }
      kept.append(match)
      left = match.old + match.count
      right = match.new + match.count
    }
    return kept
  }

  private mutating func compareLines(_ old: Scalars, _ new: Scalars) {
    let (left, right) = (Self.lines(old), Self.lines(new))
    var numbers: [Scalars: UInt32] = [:]
    let number = { (line: Scalars) -> UInt32 in
      if let known = numbers[line] { return known }
      numbers[line] = UInt32(numbers.count)
      return UInt32(numbers.count - 1)
    }
    guard let matches = Self.matches(left.map(number), right.map(number)) else {
      return replace(old, by: new)
    }
    var (oldLine, newLine) = (0, 0)
    let end = Match(old: left.count, new: right.count, count: 0)
    for match in matches + [end] {
      let before = Self.span(left[oldLine..<match.old], in: old)
      let after = Self.span(right[newLine..<match.new], in: new)
      compare(before, after, byLine: false)
      delta.keep(left[match.old..<match.old + match.count].reduce(0) { $0 + $1.count })
      oldLine = match.old + match.count
      newLine = match.new + match.count
    }
  }

  private static func lines(_ text: Scalars) -> [Scalars] {
    var lines: [Scalars] = []
    var start = text.startIndex
    for index in text.indices where text[index] == 10 {
      lines.append(text[start...index])
      start = index + 1
    }
    if start < text.endIndex { lines.append(text[start...]) }
    return lines
  }

  private static func span(_ lines: ArraySlice<Scalars>, in text: Scalars) -> Scalars {
    guard let first = lines.first, let last = lines.last else { return [] }
    return text[first.startIndex..<last.endIndex]
  }

  // MARK: - Myers

  struct Match {
    var old: Int
    var new: Int
    var count: Int
  }

  /// What both have in common, in their order; `nil` when more than the limit differ.
  private static func matches(_ old: [UInt32], _ new: [UInt32]) -> [Match]? {
    let limit = min(editLimit, old.count + new.count)
    if abs(old.count - new.count) > limit { return nil }
    // For each number of edits the furthest place in `old` on each diagonal.
    var rounds: [[Int32]] = []
    var furthest = [Int32](repeating: 0, count: 2 * limit + 3)
    let middle = limit + 1
    for edits in 0...limit {
      for diagonal in stride(from: -edits, through: edits, by: 2) {
        let at = middle + diagonal
        let isDown =
          diagonal == -edits || diagonal != edits && furthest[at - 1] < furthest[at + 1]
        var place = Int(isDown ? furthest[at + 1] : furthest[at - 1] + 1)
        while place < old.count, place - diagonal < new.count, place - diagonal >= 0,
          old[place] == new[place - diagonal]
        {
          place += 1
        }
        furthest[at] = Int32(place)
        if place >= old.count, place - diagonal >= new.count {
          rounds.append(Array(furthest[middle - edits...middle + edits]))
          return walkBack(rounds, old.count, new.count)
        }
      }
      rounds.append(Array(furthest[middle - edits...middle + edits]))
    }
    return nil
  }

  private static func walkBack(_ rounds: [[Int32]], _ oldCount: Int, _ newCount: Int) -> [Match] {
    var matches: [Match] = []
    var (old, new) = (oldCount, newCount)
    for edits in stride(from: rounds.count - 1, through: 0, by: -1) {
      let diagonal = old - new
      var start = 0
      if edits > 0 {
        let round = rounds[edits - 1]
        let at = diagonal + edits - 1
        let below = at - 1 >= 0 && at - 1 < round.count ? Int(round[at - 1]) : -1
        let above = at + 1 >= 0 && at + 1 < round.count ? Int(round[at + 1]) : -1
        let isDown = diagonal == -edits || diagonal != edits && below < above
        start = isDown ? above : below + 1
        if old > start {
          matches.append(Match(old: start, new: start - diagonal, count: old - start))
        }
        old = isDown ? start : start - 1
        new = old - (isDown ? diagonal + 1 : diagonal - 1)
      } else if old > 0 {
        matches.append(Match(old: 0, new: 0, count: old))
      }
    }
    return matches.reversed()
  }
}
