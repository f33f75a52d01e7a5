import SeededRandom
import TernCore
import Testing

@Suite("Value: the order of values")
struct ValueOrderTests {
  static let integers: [Int64] = [
    .min, .min + 1, -(1 << 53) - 1, -(1 << 53), -1, 0, 1, 1 << 53, (1 << 53) + 1, .max - 1023,
    .max - 512, .max - 1, .max,
  ]
  static let reals: [Double] = [
    -.infinity, -0x1p63, -0x1.fffffffffffffp62, -0x1p53, -1.5, -1, -0.5, -0.0, 0, 0.5, 1, 1.5,
    0x1p53, 0x1.0000000000001p53, 0x1.fffffffffffffp62, 0x1p63, .infinity,
  ]
  static let others: [SQLiteValue] = [
    .null, "", "a", "ab", "b", .text([0xFF]), .blob([]), .blob([0]), .blob([0xFF]),
  ]
  static var edges: [SQLiteValue] {
    integers.map { SQLiteValue.integer($0) } + reals.map { SQLiteValue.real($0) } + others
  }

  @Test func `the order is total`() {
    for left in Self.edges {
      for right in Self.edges {
        let relations = [left < right, right < left, left == right]
        #expect(relations.count { $0 } == 1, "\(left) and \(right)")
      }
    }
  }

  @Test func `the order is transitive`() {
    for left in Self.edges {
      for middle in Self.edges where left < middle {
        for right in Self.edges where middle < right {
          #expect(left < right, "\(left), \(middle), \(right)")
        }
      }
    }
  }

  @Test(arguments: 0..<20)
  func `random numbers near each other are in one order`(_ seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    let numbers = (0..<40).flatMap { _ -> [SQLiteValue] in
      let integer =
        Int64(bitPattern: generator.next()) >> Int64.random(in: 0...62, using: &generator)
      let real = Double(integer)
      return [.integer(integer), .real(real), .real(real.nextUp), .real(real.nextDown)]
    }
    let sorted = numbers.sorted()
    for (index, value) in sorted.enumerated() {
      #expect(sorted[(index + 1)...].allSatisfy { !($0 < value) })
    }
  }
}
