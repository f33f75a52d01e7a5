/// Columns that a note names: a bit for each by its number in the catalogue, 62 a word.
struct ColumnMask: Equatable {
  private(set) var first: Int64 = 0
  /// Apart, so that only a note of a wide table takes memory.
  private(set) var rest: [Int64] = []

  var isEmpty: Bool { first == 0 && rest.allSatisfy { $0 == 0 } }
  var words: [Int64] { [first] + rest }

  /// A word; 0 for one that the table did not have when the row was noted.
  subscript(word: Int) -> Int64 {
    word == 0 ? first : word <= rest.count ? rest[word - 1] : 0
  }

  func contains(_ column: TableShape.Column) -> Bool {
    let (word, bit) = column.id.quotientAndRemainder(dividingBy: TableShape.maskBits)
    return self[word] >> Int64(bit) & 1 == 1
  }

  func isSubset(of other: ColumnMask) -> Bool {
    (0...rest.count).allSatisfy { self[$0] & ~other[$0] == 0 }
  }

  func subtracting(_ other: ColumnMask) -> ColumnMask {
    ColumnMask(
      first: first & ~other.first, rest: rest.indices.map { rest[$0] & ~other[$0 + 1] })
  }

  mutating func formUnion(_ other: ColumnMask) {
    let count = max(rest.count, other.rest.count)
    self = ColumnMask(
      first: first | other.first, rest: (0..<count).map { self[$0 + 1] | other[$0 + 1] })
  }
}
