/// How one text becomes another: steps from its beginning to its end, counted in Unicode scalars.
/// What no step reaches is kept.
package struct TextDelta: Hashable, Sendable {
  package enum Step: Hashable, Sendable {
    case keep(Int)
    case remove(Int)
    /// UTF-8, at least one scalar.
    case insert([UInt8])
  }

  /// No step is empty, none follows one of its kind, and none keeps at the end; between two that
  /// keep, removing comes before inserting. So equal deltas are equal steps.
  package private(set) var steps: [Step] = []

  package init() {}

  package var isEmpty: Bool { steps.isEmpty }

  package mutating func keep(_ count: Int) {
    guard count > 0 else { return }
    if case .keep(let last) = steps.last {
      steps[steps.count - 1] = .keep(last + count)
    } else {
      steps.append(.keep(count))
    }
  }

  package mutating func remove(_ count: Int) {
    guard count > 0 else { return }
    let isBehindInsertion = if case .insert = steps.last { true } else { false }
    let place = isBehindInsertion ? steps.count - 1 : steps.count
    if place > 0, case .remove(let last) = steps[place - 1] {
      steps[place - 1] = .remove(last + count)
    } else {
      steps.insert(.remove(count), at: place)
    }
  }

  package mutating func insert(_ text: some Collection<UInt8>) {
    guard !text.isEmpty else { return }
    if case .insert(var last) = steps.last {
      steps.removeLast()
      last.append(contentsOf: text)
      steps.append(.insert(last))
    } else {
      steps.append(.insert(Array(text)))
    }
  }

  package mutating func finish() {
    if case .keep = steps.last { steps.removeLast() }
  }

  /// What becomes of a text; `nil` when it is shorter than the steps say.
  package func applied(to text: [UInt8]) -> [UInt8]? {
    var result: [UInt8] = []
    result.reserveCapacity(text.count)
    var place = 0
    for step in steps {
      switch step {
      case .keep(let count):
        guard let end = text.index(place, scalars: count) else { return nil }
        result.append(contentsOf: text[place..<end])
        place = end
      case .remove(let count):
        guard let end = text.index(place, scalars: count) else { return nil }
        place = end
      case .insert(let inserted): result.append(contentsOf: inserted)
      }
    }
    result.append(contentsOf: text[place...])
    return result
  }

  /// The same intent for a text that `other` has changed meanwhile: what either inserted stays, and
  /// what either removed goes. Where both insert, this one comes behind.
  package func transformed(over other: TextDelta) -> TextDelta {
    var result = TextDelta()
    var theirs = other.steps[...]
    var mine = steps[...]
    while let step = mine.first {
      if case .insert(let text) = theirs.first {
        result.keep(scalarCount(text))
        theirs.removeFirst()
      } else if case .insert(let text) = step {
        // What they remove here comes first, so that their replacement stands before this one.
        if case .remove(let count) = theirs.first {
          guard theirs.count > 1, case .insert = theirs[theirs.startIndex + 1] else {
            result.insert(text)
            mine.removeFirst()
            continue
          }
          // Their insertion is read before their removal; the two do not depend on an order.
          theirs[theirs.startIndex] = theirs[theirs.startIndex + 1]
          theirs[theirs.startIndex + 1] = .remove(count)
          continue
        }
        result.insert(text)
        mine.removeFirst()
      } else {
        let count = Swift.min(step.span, theirs.first?.span ?? .max)
        let isGone = if case .remove = theirs.first { true } else { false }
        switch step {
        case .keep where !isGone: result.keep(count)
        case .remove where !isGone: result.remove(count)
        default: break
        }
        mine.shorten(by: count)
        theirs.shorten(by: count)
      }
    }
    result.finish()
    return result
  }
}

extension TextDelta.Step {
  /// Of the text before.
  fileprivate var span: Int {
    switch self {
    case .keep(let count), .remove(let count): count
    case .insert: 0
    }
  }
}

extension ArraySlice<TextDelta.Step> {
  fileprivate mutating func shorten(by count: Int) {
    guard let first else { return }
    let rest = first.span - count
    if rest == 0 {
      removeFirst()
    } else if case .keep = first {
      self[startIndex] = .keep(rest)
    } else {
      self[startIndex] = .remove(rest)
    }
  }
}

extension [UInt8] {
  /// Where so many scalars from `start` on end; `nil` when there are fewer.
  func index(_ start: Int, scalars count: Int) -> Int? {
    if count > self.count - start { return nil }
    return withUnsafeBufferPointer { bytes in
      var (place, left) = (start, count)
      let words = UnsafeRawBufferPointer(bytes)
      while left >= 8, place + 8 <= words.count {
        let word = words.loadUnaligned(fromByteOffset: place, as: UInt64.self)
        // The bytes that go on with a scalar have their top bit set and the next one clear.
        left -= 8 - (word & ~(word << 1) & 0x8080_8080_8080_8080).nonzeroBitCount
        place += 8
      }
      while place < bytes.count {
        if bytes[place] & 0xC0 != 0x80 {
          if left == 0 { return place }
          left -= 1
        }
        place += 1
      }
      return left == 0 ? place : nil
    }
  }
}
