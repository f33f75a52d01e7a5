import SeededRandom
import TernCore
import Testing

/// The same set, one element at a time.
private struct PlainSet {
  var entries: [SQLiteValue: VersionVector] = [:]
  var early: [SQLiteValue: VersionVector] = [:]
  var arrived = VersionVector()

  mutating func apply(_ change: SetChange, by author: ReplicaID, _ turn: Turn) -> Bool {
    let before = Set(entries.keys)
    for removal in change.removed {
      for (replica, sequence) in removal.additions.sequences {
        if sequence > arrived[replica] {
          let known = early[removal.element]?[replica] ?? 0
          early[removal.element, default: VersionVector()][replica] = max(known, sequence)
        }
        if let known = entries[removal.element]?[replica], known <= sequence {
          entries[removal.element]?[replica] = 0
        }
      }
      if entries[removal.element]?.sequences.isEmpty ?? false { entries[removal.element] = nil }
    }
    var hasChanged = Set(entries.keys) != before
    guard !change.added.isEmpty, turn.sequence > arrived[author] else { return hasChanged }
    for element in change.added {
      if let known = early[element]?[author], known >= turn.sequence { continue }
      if entries[element] == nil { hasChanged = true }
      let known = entries[element]?[author] ?? 0
      entries[element, default: VersionVector()][author] = max(known, turn.sequence)
    }
    let settled = min(turn.sequence, turn.settled)
    guard settled > arrived[author] else { return hasChanged }
    arrived[author] = settled
    for (element, additions) in early where additions[author] <= settled {
      early[element]?[author] = 0
      if early[element]!.sequences.isEmpty { early[element] = nil }
    }
    return hasChanged
  }
}

/// Counts what is moved in it.
private struct CountingEntries: RandomAccessCollection, MutableCollection,
  RangeReplaceableCollection
{
  typealias Element = ElementSet.Entry

  private(set) var content: [Element] = []
  private(set) var moved = 0

  init() {}

  var startIndex: Int { 0 }
  var endIndex: Int { content.count }

  subscript(position: Int) -> Element {
    get { content[position] }
    set {
      moved += 1
      content[position] = newValue
    }
  }

  mutating func replaceSubrange(_ range: Range<Int>, with elements: some Collection<Element>) {
    let behind = content.count - range.upperBound
    moved += elements.count + (elements.count == range.count ? 0 : behind)
    content.replaceSubrange(range, with: elements)
  }
}

@Suite("CRDT: sets of elements")
struct ElementSetTests {
  private static let replicas = (1...4).map { ReplicaID(high: 0, low: $0) }

  private func elements(_ generator: inout SeededGenerator) -> [SQLiteValue] {
    let count = Int.random(in: 0...12, using: &generator)
    let all = (0..<count).map { _ -> SQLiteValue in
      let number = Int64.random(in: 0..<30, using: &generator)
      return generator.oneIn(3) ? .string("\(number)") : .integer(number)
    }
    return Set(all).sorted()
  }

  private func change(_ generator: inout SeededGenerator) -> SetChange {
    let removed = elements(&generator).compactMap { element -> ElementSet.Entry? in
      var additions = VersionVector()
      for replica in Self.replicas where generator.oneIn(2) {
        additions[replica] = UInt64.random(in: 0...20, using: &generator)
      }
      return additions.sequences.isEmpty ? nil : .init(element, additions)
    }
    return SetChange(added: elements(&generator), removed: removed)
  }

  @Test(arguments: 1...60)
  func `a change makes of a set what its elements make of it one by one`(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var set = ElementSet()
    var plain = PlainSet()
    for step in 1...60 {
      let change = change(&generator)
      let author = Self.replicas.randomElement(using: &generator)!
      let sequence = UInt64.random(in: 1...20, using: &generator)
      let turn = Turn(sequence: sequence, settled: generator.oneIn(3) ? 0 : sequence)
      let hasChanged = set.apply(change, by: author, turn)
      let isExpected = plain.apply(change, by: author, turn)
      #expect(hasChanged == isExpected, "step \(step)")
      #expect(set.elements == plain.entries.keys.sorted())
      for entry in set.entries { #expect(entry.additions == plain.entries[entry.element]) }
      #expect(set.early.map(\.element) == plain.early.keys.sorted())
      for entry in set.early { #expect(entry.additions == plain.early[entry.element]) }
      #expect(set.arrived == plain.arrived)
    }
  }

  // MARK: - Cost

  private static let count = 10_000

  private func entries(_ numbers: some Sequence<Int>) -> [ElementSet.Entry] {
    let seen = VersionVector([Self.replicas[0]: 1])
    return numbers.map { .init(.integer(Int64($0)), seen) }
  }

  @Test(arguments: [1, 2, 3, 5000])
  func `taking elements out moves each that stays a few times, however many go`(_ part: Int) {
    var set = CountingEntries()
    set.merge(entries(0..<Self.count))
    let before = set.moved
    let hasGone = set.remove(entries(stride(from: 0, to: Self.count, by: part)))
    #expect(hasGone && set.allSatisfy { Int("\($0.element)").map { $0 % part != 0 } ?? false })
    #expect(set.moved - before <= 6 * Self.count, "\(set.moved - before)")
  }

  @Test func `adding elements among others moves each a few times`() {
    var set = CountingEntries()
    set.merge(entries(stride(from: 0, to: Self.count, by: 2)))
    set.merge(entries(stride(from: 1, to: Self.count, by: 2)))
    #expect(set.content == entries(0..<Self.count))
    #expect(set.moved <= 6 * Self.count, "\(set.moved)")
  }

  @Test func `a set of 100,000 elements can be emptied and filled again`() {
    let elements = (0..<ElementSet.Limit.elements).map { SQLiteValue.integer(Int64($0)) }
    var set = ElementSet()
    var changes = [set.apply(SetChange(added: elements), by: Self.replicas[0], Turn(1))]
    let removal = set.change(to: [])!
    changes.append(set.apply(removal, by: Self.replicas[1], Turn(1)))
    #expect(set.entries.isEmpty && set.early.isEmpty)
    changes.append(set.apply(SetChange(added: elements), by: Self.replicas[1], Turn(2)))
    #expect(changes == [true, true, true])
    #expect(set.entries.count == elements.count)
  }
}
