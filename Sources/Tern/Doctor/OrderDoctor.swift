import TernCore
import TernDatabase

/// Looks at the keys by which people's lists are sorted.
struct OrderDoctor {
  private let transaction: StoreTransaction
  private let sql: TableSQL
  private let findings: Findings

  init(_ transaction: StoreTransaction, _ sql: TableSQL, _ findings: Findings) {
    (self.transaction, self.sql, self.findings) = (transaction, sql, findings)
  }

  func run() throws {
    for column in sql.shape.columns where column.rule == .order {
      try checkKeys(column.name)
      try checkDoubles(column.name)
    }
  }

  private func checkKeys(_ column: String) throws {
    let keys = sql.shape.keyColumns.map(\.quoted)
    let scan = try transaction.statement(
      "SELECT \((keys + [column.quoted]).joined(separator: ", ")) FROM \(sql.shape.qualifiedName) "
        + "WHERE \(column.quoted) IS NOT NULL")
    defer { scan.reset() }
    var count = 0
    while try scan.step() {
      guard case .text(let text) = scan.value(Int32(keys.count)).value,
        OrderKey(bytes: text) == nil
      else { continue }
      count += 1
      // A text of the app's own may be as long as it likes.
      guard text.count > OrderKey.Limit.bytes, Self.isLikeKey(text) else { continue }
      try findings.add(
        .orderLong, "its key has \(text.count) bytes, and one has \(OrderKey.Limit.bytes) at most",
        at: .init(
          table: sql.shape.name, key: try WrittenValues.text(scan.packedKey(sql.shape)),
          column: column))
    }
    if count > 0 {
      try findings.add(
        .orderText, "\(count) rows hold texts that are no keys, and sort as SQLite sorts them",
        at: .init(table: sql.shape.name, column: column))
    }
  }

  private static func isLikeKey(_ text: [UInt8]) -> Bool {
    let isOfKey: (UInt8) -> Bool = { 48...57 ~= $0 || 65...90 ~= $0 || 97...122 ~= $0 }
    return text.allSatisfy { isOfKey($0) || $0 == UInt8(ascii: ".") }
      && text[text.count - 7] == UInt8(ascii: ".")
  }

  private func checkDoubles(_ column: String) throws {
    let scan = try transaction.statement(
      """
      SELECT count(*) FROM (
        SELECT 1 FROM \(sql.shape.qualifiedName) WHERE \(column.quoted) IS NOT NULL
        GROUP BY \(column.quoted) HAVING count(*) > 1)
      """)
    defer { scan.reset() }
    if try scan.step(), scan.int64(0) > 0 {
      try findings.add(
        .orderDouble, "\(scan.int64(0)) places are held by more than one row",
        at: .init(table: sql.shape.name, column: column))
    }
  }
}
