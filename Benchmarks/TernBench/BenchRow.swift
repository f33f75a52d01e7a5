import GRDB
import TernCore
import TernDatabase
import TernTesting

/// One row of the table `item`, made from a seed. Its bytes live as long as the process, so that
/// binding copies nothing and the count is the database's.
struct BenchRow {
  let id: WireValue
  let a: WireValue
  let b: WireValue
  let c: WireValue
  let d: WireValue

  static let table = """
    CREATE TABLE IF NOT EXISTS item (id TEXT NOT NULL PRIMARY KEY, a TEXT, b INTEGER, c REAL, d TEXT)
    """

  /// The same, where each item stands on a shelf.
  static let childTable = """
    CREATE TABLE IF NOT EXISTS shelf (id TEXT NOT NULL PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS item (
      id TEXT NOT NULL PRIMARY KEY, a TEXT REFERENCES shelf ON DELETE CASCADE, b INTEGER, c REAL, d TEXT);
    CREATE INDEX IF NOT EXISTS item_a ON item (a);
    INSERT INTO shelf VALUES ('\(title)');
    """
  private static let title = "a title of a few words"

  static func make(_ count: Int, seed: UInt64 = 1) -> [BenchRow] {
    var generator = SeededGenerator(seed: seed)
    let (a, d) = (text(title), text("and a longer remark about the item"))
    return (0..<count).map { _ in
      BenchRow(
        id: text(uuid(&generator)), a: a, b: WireValue(.integer, bits: generator.next() >> 40),
        c: WireValue(.real, bits: Double.random(in: 0..<1, using: &generator).bitPattern), d: d)
    }
  }

  /// Every so many-th row of a table, of which only ``bindChange(to:)`` can be asked.
  static func fetch(_ db: Database, every step: Int) throws -> [BenchRow] {
    let rows = try Row.fetchAll(
      db, sql: "SELECT id, b FROM item WHERE rowid % ? = 0", arguments: [max(1, step)])
    return rows.map { row in
      BenchRow(
        id: text(row[0]), a: WireValue(.null),
        b: WireValue(.integer, bits: UInt64(bitPattern: row[1])), c: WireValue(.null),
        d: WireValue(.null))
    }
  }

  func bindAll(to statement: FastStatement) {
    statement.bind(1, id)
    statement.bind(2, a)
    statement.bind(3, b)
    statement.bind(4, c)
    statement.bind(5, d)
  }

  func bindKey(to statement: FastStatement) { statement.bind(1, id) }

  /// The key, and a number that differs from ``b``.
  func bindChange(to statement: FastStatement) {
    statement.bind(1, id)
    statement.bind(2, Int64(bitPattern: b.bits) + 1)
  }

  private static func text(_ string: String) -> WireValue {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: string.utf8.count, alignment: 1)
    bytes.copyBytes(from: string.utf8)
    return WireValue(.text, content: UnsafeRawBufferPointer(bytes))
  }

  private static func uuid(_ generator: inout SeededGenerator) -> String {
    var digits = Array(ReplicaID(using: &generator).description)
    for index in [20, 16, 12, 8] { digits.insert("-", at: index) }
    return String(digits)
  }
}
