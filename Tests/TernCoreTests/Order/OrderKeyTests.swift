import Rehearsals
import SeededRandom
import TernCore
import Testing

@Suite("Order: keys of places in a list")
struct OrderKeyTests {
  enum Pattern: String, CaseIterable, CustomTestStringConvertible {
    case random, front, back, middle, zigzag
    case behindTheLast = "each behind the one before"

    var testDescription: String { rawValue }

    /// Where the next row goes in a list of `count`, after `last`.
    func place(_ move: Int, in count: Int, after last: Int, using generator: inout SeededGenerator)
      -> Int
    {
      switch self {
      case .random: Int.random(in: 0...count, using: &generator)
      case .front: 0
      case .back: count
      case .middle: count / 2
      case .zigzag: min(count, move.isMultiple(of: 2) ? last : last + 1)
      case .behindTheLast: count < 4 ? count : min(count, last + 1)
      }
    }
  }

  /// A sorted list of keys, as rows of a table would have them.
  private struct List {
    var keys: [OrderKey] = []
    var generator = SeededGenerator(seed: 7)
    var longest = 0
    var rewritten = 0

    mutating func insert(at index: Int) {
      var count = 1
      while true {
        let (left, right) = neighbours(of: index, count)
        let decision = OrderPlacement.decide(
          .init(keys: left, isWhole: left.count < count),
          .init(keys: right, isWhole: right.count < count), using: &generator)
        switch decision {
        case .needs(let more): count = more
        case .place(let key, let lefts, let rights):
          for (offset, key) in lefts.enumerated() { keys[index - 1 - offset] = key }
          for (offset, key) in rights.enumerated() { keys[index + offset] = key }
          keys.insert(key, at: index)
          rewritten += lefts.count + rights.count
          longest = max(longest, key.bytes.count)
          for key in lefts { longest = max(longest, key.bytes.count) }
          for key in rights { longest = max(longest, key.bytes.count) }
          return
        }
      }
    }

    /// Nearest first. Most moves look at one on each side, which is to cost little.
    private func neighbours(of index: Int, _ count: Int) -> (left: [OrderKey?], right: [OrderKey?])
    {
      if count == 1 {
        return (
          index > 0 ? [keys[index - 1]] : [], index < keys.count ? [keys[index]] : []
        )
      }
      return (
        keys[max(0, index - count)..<index].reversed().map(Optional.some),
        keys[index..<min(keys.count, index + count)].map(Optional.some)
      )
    }

    var isInOrder: Bool { zip(keys, keys.dropFirst()).allSatisfy(<) }
  }

  @Test(arguments: Pattern.allCases)
  func `keys stay under 64 bytes over 100,000 moves, and in order`(_ pattern: Pattern) {
    var list = List()
    var generator = SeededGenerator(seed: 11)
    var last = 0
    for move in 0..<Rehearsal.count(100_000, short: 20_000) {
      if list.keys.count == 500 {
        let index = pattern == .random ? Int.random(in: 0..<500, using: &generator) : move % 2 * 499
        list.keys.remove(at: index)
        if index < last { last -= 1 }
      }
      last = pattern.place(move, in: list.keys.count, after: last, using: &generator)
      list.insert(at: last)
      if move.isMultiple(of: 5000) { #expect(list.isInOrder) }
    }
    #expect(list.isInOrder)
    #expect(list.longest < 64)
    // Rows that make room are few, even where two neighbours are parted again and again.
    #expect(list.rewritten < 300_000)
    print("\(pattern.rawValue): \(list.longest) bytes, \(list.rewritten) rows made room")
  }

  @Test func `rows added at random need no room`() {
    var list = List()
    var generator = SeededGenerator(seed: 3)
    for count in 0..<20_000 { list.insert(at: Int.random(in: 0...count, using: &generator)) }
    #expect(list.isInOrder)
    #expect(list.rewritten == 0)
  }

  @Test func `between any two keys, however they were made, is another`() {
    var generator = SeededGenerator(seed: 5)
    for _ in 0..<500 {
      var keys: [OrderKey] = []
      for _ in 0..<20 {
        let index = Int.random(in: 0...keys.count, using: &generator)
        let (lower, upper) = (
          index == 0 ? nil : keys[index - 1], index == keys.count ? nil : keys[index]
        )
        // Two devices at one spot.
        let pair = (0..<2).compactMap { _ in OrderKey.between(lower, upper, using: &generator) }
        guard pair.count == 2 else {
          // Seven bytes more for every two that were parted.
          #expect(max(lower!.bytes.count, upper?.bytes.count ?? 0) > 48)
          break
        }
        #expect(pair[0] != pair[1])
        keys.insert(contentsOf: pair.sorted(), at: index)
      }
      #expect(zip(keys, keys.dropFirst()).allSatisfy(<))
      #expect(keys.allSatisfy { OrderKey($0.text) == $0 })
    }
  }

  @Test(arguments: [
    "", "V", "V.", "V.abc", "V.abcdef!", ".abcdef", "V.abcdefV", "V.abcdef.abcdef", "g.abcdef",
    "V.abcdéf", "ä.abcdef", "z0000.abcdef", " V.abcdef",
    String(repeating: "V", count: 57) + ".abcdef",
  ])
  func `what is no key is read as none`(_ text: String) {
    #expect(OrderKey(text) == nil)
  }

  @Test func `keys at the ends of numbers have neighbours, or say that there is no room`() throws {
    var generator = SeededGenerator(seed: 1)
    let last = try #require(OrderKey("zzzzzz.zzzzzz"))
    let behind = try #require(OrderKey.between(last, nil, using: &generator))
    #expect(behind > last)
    let first = try #require(OrderKey("000000.000000"))
    #expect(OrderKey.between(nil, first, using: &generator) == nil)
    #expect(OrderKey.between(last, first, using: &generator) == nil)
    #expect(OrderKey.between(last, last, using: &generator) == nil)
    let long = try #require(OrderKey(String(repeating: "z", count: 54) + ".000000"))
    #expect(OrderKey.between(long, nil, using: &generator)! > long)
  }

  @Test func `a row that cannot go before the first number makes it move`() throws {
    var generator = SeededGenerator(seed: 1)
    let first = try #require(OrderKey("000000.000000"))
    let second = try #require(OrderKey("V.000000"))
    var count = 1
    while true {
      let right = [first, second].prefix(count).map(Optional.some)
      let decision = OrderPlacement.decide(
        .init(keys: [], isWhole: true), .init(keys: right, isWhole: right.count < count),
        using: &generator)
      if case .needs(let more) = decision {
        count = more
        continue
      }
      guard case .place(let key, [], let moved) = decision else { break }
      #expect(key < moved[0])
      #expect(moved.count == 2 || moved[0] < second)
      return
    }
    Issue.record("no place")
  }
}
