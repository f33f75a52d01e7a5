import TernTesting

/// Statements as an app writes them.
extension DrawnSchema {
  func statement(using random: inout SeededGenerator) -> String {
    let table = tables.randomElement(using: &random)!
    func value(_ column: Column, isNew: Bool) -> String {
      let value = column.values.randomElement(using: &random)!
      // A counter's own value is known to updates alone.
      if isNew, column.rule == .counter { return "1" }
      return value.replacing("{}", with: column.quoted)
    }
    func match() -> String {
      table.keys.map { "\($0.quoted) = \(value($0, isNew: false))" }.joined(separator: " AND ")
    }
    func sets(_ columns: [Column]) -> String {
      columns.map { "\($0.quoted) = \(value($0, isNew: false))" }.joined(separator: ", ")
    }
    func some(_ columns: [Column]) -> [Column] {
      columns.shuffled(using: &random)
        .prefix(.random(in: 1...max(1, columns.count), using: &random)).map { $0 }
    }
    let clause = ["", "", "OR REPLACE ", "OR IGNORE ", "OR FAIL "].randomElement(using: &random)!
    func insert() -> String {
      let chosen = table.keys + some(table.columns)
      let names = chosen.map(\.quoted).joined(separator: ", ")
      let rows = (0...Int.random(in: 0...2, using: &random)).map { _ in
        "(\(chosen.map { value($0, isNew: true) }.joined(separator: ", ")))"
      }
      return "INTO \(table.quoted) (\(names)) VALUES \(rows.joined(separator: ", "))"
    }
    if let flag = table.columns.first(where: \.isFlag), random.happens(0.2) {
      return "UPDATE \(clause)\(table.quoted) SET \(sets([flag])) WHERE \(match())"
    }
    // Of one that an app writes alone nothing is noted.
    let changing = table.columns.filter { !$0.isPointer }
    switch Int.random(in: 0..<10, using: &random) {
    case 0...3: return "INSERT \(clause)\(insert())"
    case 4 where !changing.isEmpty:
      return "INSERT \(insert()) ON CONFLICT DO UPDATE SET \(sets(some(changing)))"
    case 5,
      6 where !changing.isEmpty:
      return "UPDATE \(clause)\(table.quoted) SET \(sets(some(changing))) WHERE \(match())"
    case 7 where !changing.isEmpty:
      // A trigger changes the order in which SQLite takes the rows of a WITHOUT ROWID table, and so
      // which of them a conflict stops.
      let clause = table.isWithoutRowid ? "" : clause
      return "UPDATE \(clause)\(table.quoted) SET \(sets(some(changing)))"
    case 8: return "UPDATE \(clause)\(table.quoted) SET \(sets([table.keys[0]])) WHERE \(match())"
    default: return "DELETE FROM \(table.quoted) WHERE \(match())"
    }
  }
}
