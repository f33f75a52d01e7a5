import SeededRandom
import Testing

@testable import Tern

/// The order in which a settlement shows rows is decided here, without a database.
@Suite("Settlement: the order in which quarantined rows are shown")
struct HeldQueueTests {
  private static let table: Int64 = 1
  private static let missing = row(99)

  private static func row(_ number: UInt8) -> RowID { RowID(table: table, key: [number]) }

  /// Rows with what each needs: others of them, itself never, and now and then one that nobody has.
  private func drawn(_ generator: inout SeededGenerator) -> [RowID: Set<RowID>] {
    let rows = (0..<UInt8.random(in: 1...12, using: &generator)).map(Self.row)
    return Dictionary(
      uniqueKeysWithValues: rows.map { row in
        var needs = Set(rows.filter { _ in Int.random(in: 0..<6, using: &generator) == 0 })
        if Int.random(in: 0..<8, using: &generator) == 0 { needs.insert(Self.missing) }
        return (row, needs.subtracting([row]))
      })
  }

  /// The greatest set in which every row has what it needs.
  private func greatest(_ needs: [RowID: Set<RowID>], without fallen: Set<RowID> = []) -> Set<RowID>
  {
    var standing = Set(needs.keys).subtracting(fallen)
    while let lost = standing.first(where: { !needs[$0]!.isSubset(of: standing) }) {
      standing.remove(lost)
    }
    return standing
  }

  private func queue(_ needs: [RowID: Set<RowID>], _ generator: inout SeededGenerator) -> HeldQueue
  {
    var queue = HeldQueue()
    let order = needs.keys.sorted { $0.key[0] < $1.key[0] }.shuffled(using: &generator)
    for row in order { queue.add(row, .init(rows: needs[row]!)) }
    queue.begin()
    return queue
  }

  @Test func `a row comes once, after all that it needs, and not at all where that is missing`() {
    for seed in 1...500 as ClosedRange<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let needs = drawn(&generator)
      var queue = queue(needs, &generator)
      var taken: [RowID] = []
      while true {
        if let row = queue.next() {
          #expect(needs[row]!.isSubset(of: taken), "seed \(seed)")
          taken.append(row)
          queue.came(row)
        } else if let row = queue.nextOfCircle() {
          // Nothing that is left has all that it needs.
          for left in greatest(needs).subtracting(taken) {
            #expect(!needs[left]!.isSubset(of: taken), "seed \(seed)")
          }
          taken.append(row)
          queue.came(row)
        } else {
          break
        }
      }
      #expect(taken.count == Set(taken).count, "seed \(seed)")
      #expect(Set(taken) == greatest(needs), "seed \(seed)")
    }
  }

  @Test func `what a row that fell was needed for does not come`() {
    var count = 0
    for seed in 1...500 as ClosedRange<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let needs = drawn(&generator)
      var queue = queue(needs, &generator)
      var (taken, fallen) = (Set<RowID>(), Set<RowID>())
      while let row = queue.next() {
        #expect(greatest(needs, without: fallen).contains(row), "seed \(seed)")
        if Int.random(in: 0..<3, using: &generator) == 0 {
          fallen.insert(row)
          queue.fell(row)
          count += 1
        } else {
          taken.insert(row)
          queue.came(row)
        }
      }
      while let row = queue.nextOfCircle() { taken.insert(row) }
      #expect(taken == greatest(needs, without: fallen), "seed \(seed)")
    }
    #expect(count > 100)
  }

  @Test func `a row that may stand later is enough for some, and too late for others`() {
    let (parent, patient, other, below) = (Self.row(0), Self.row(1), Self.row(2), Self.row(3))
    var queue = HeldQueue()
    queue.add(parent, .init())
    queue.add(patient, .init(rows: [parent]))
    queue.add(other, .init(rows: [parent]))
    queue.add(below, .init(rows: [other]))
    queue.begin()
    #expect(queue.next() == parent)
    queue.came(parent) { $0 == patient }
    #expect(queue.next() == patient)
    #expect(queue.next() == nil)
    #expect(queue.nextOfCircle() == nil)
  }

  @Test func `what needs some row of a table is undecided until it needs less`() {
    let (parent, child) = (Self.row(0), RowID(table: 2, key: [0]))
    var queue = HeldQueue()
    queue.add(parent, .init())
    queue.add(child, .init(tables: [Self.table]))
    queue.begin()
    #expect(queue.undecided == [child])
    #expect(queue.hasPending(of: Self.table))
    #expect(queue.next() == parent)
    queue.came(parent)
    #expect(!queue.hasPending(of: Self.table))
    #expect(queue.next() == nil)
    let isReady = queue.reduce(child, to: .init())
    #expect(isReady)
    #expect(queue.undecided == [])
    #expect(queue.next() == child)
  }
}
