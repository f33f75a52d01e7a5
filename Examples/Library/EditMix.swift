import GRDB

/// Many edits of every kind, the same for the same seed and table. Half of them go to the books
/// that were imported first, so that two devices meet there.
struct EditMix {
  let seed: UInt64
  private var generator: SplitMix
  private var added = 0

  init(seed: UInt64) {
    self.seed = seed
    generator = SplitMix(state: seed)
  }

  /// One transaction.
  ///
  /// - Returns: what was done, a line each, after it was committed.
  mutating func write(_ count: Int, to database: any DatabaseWriter) async throws -> [String] {
    let draws = (0..<count).map { _ in draw() }
    return try await database.write { db in
      let keys = try String.fetchAll(db, sql: "SELECT isbn FROM book ORDER BY rowid")
      guard !keys.isEmpty else { return [] }
      return try draws.compactMap { draw in
        let range = draw.isPopular ? keys.count / 40 + 1 : keys.count
        let key = draw.key ?? keys[Int(draw.place * Double(range))]
        return try draw.edit.apply(to: key, in: db) ? "\(key)\t\(draw.edit)" : nil
      }
    }
  }

  private struct Draw: Sendable {
    var edit: Edit
    /// Of a new book.
    var key: String?
    var isPopular: Bool
    var place: Double
  }

  private mutating func draw() -> Draw {
    let number = Int.random(in: 0..<1_000_000, using: &generator)
    var draw = Draw(
      edit: .delete, isPopular: Bool.random(using: &generator),
      place: Double.random(in: 0..<1, using: &generator))
    switch Int.random(in: 0..<100, using: &generator) {
    case 0..<40: draw.edit = .count(1 + number % 3)
    case 40..<54: draw.edit = .rate(1 + number % 5)
    case 54..<68: draw.edit = .retitle("Title \(number) by \(seed)")
    case 68..<78: draw.edit = .confidence(Double(number % 100) / 100)
    case 78..<84: draw.edit = .shelve("shelf-\(number % 12)")
    case 84..<88: draw.edit = .thumbnail("/thumbnails/\(seed)/\(number).jpg")
    case 88..<94:
      added += 1
      draw.edit = .add("Found \(number) by \(seed)")
      // Every third book is one that the other device finds in the same round, too.
      draw.key = added % 3 == 0 ? "both:\(seed % 100):\(added)" : "own:\(seed):\(added)"
    default: break
    }
    return draw
  }
}

/// - Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014).
private struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}
