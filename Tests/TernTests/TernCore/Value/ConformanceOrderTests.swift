import GRDB
import Tern
import TernTesting
import Testing

/// SQLite is the judge of the order over types that `.max` and `.min` use.
@Suite("Value: the order of values in SQLite")
struct ConformanceOrderTests {
  @Test(arguments: 0..<10)
  func `values are in SQLite's order`(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    var values: [SQLiteValue] = [
      .null, "", "a", "B", "ä", .text([0xFF]), .blob([]), .blob([0, 1]),
    ]
    for edge in [Int64.min, -(1 << 53), -1, 0, 1, 1 << 53, .max, .max - 512] {
      let real = Double(edge)
      values += [.integer(edge), .integer(edge &+ 1), .integer(edge &- 1), .real(real)]
      values += [.real(real.nextUp), .real(real.nextDown), .real(real + 0.5)]
    }
    values += [.real(.infinity), .real(-.infinity), .real(-0.0)]
    for _ in 0..<60 {
      let number =
        Int64(bitPattern: generator.next()) >> Int64.random(in: 0...62, using: &generator)
      values += [
        .integer(number), .real(Double(number)), .real(Double(bitPattern: generator.next())),
      ]
    }
    // SQLite has no NaN.
    values.removeAll { if case .real(let number) = $0 { number.isNaN } else { false } }
    values.shuffle(using: &generator)
    try DatabaseQueue().write { db in
      let statement = try FastStatement(db, "SELECT ?1 < ?2, ?1 = ?2, ?1 IS ?2")
      for left in values {
        for right in values where left != .null && right != .null {
          statement.bind(1, copy: left)
          statement.bind(2, copy: right)
          #expect(try statement.step())
          let (isLess, isEqual) = (statement.int64(0) == 1, statement.int64(1) == 1)
          statement.reset()
          // Where SQLite sees equals, the order goes on to tell them apart.
          if !isEqual { #expect((left < right) == isLess, "\(left) and \(right)") }
          if left == right { #expect(isEqual, "\(left)") }
        }
      }
    }
  }

  @Test func `ORDER BY gives the order of values`() throws {
    let values: [SQLiteValue] = [
      .blob([1]), "a", 2, 1.5, .null, .integer(.max), .real(0x1p63), .real(-.infinity), "",
      .blob([]),
    ]
    let sorted = try DatabaseQueue().write { db in
      try db.execute(sql: "CREATE TABLE t (v)")
      let insert = try FastStatement(db, "INSERT INTO t VALUES (?)")
      for value in values {
        insert.bind(1, copy: value)
        try insert.run()
      }
      let select = try FastStatement(db, "SELECT v FROM t ORDER BY v")
      defer { select.reset() }
      var sorted: [SQLiteValue] = []
      while try select.step() { sorted.append(try #require(select.value(0).value)) }
      return sorted
    }
    #expect(sorted == values.sorted())
  }
}
