import GRDB
import Tern
import TernTesting
import TestDevice

/// A table with columns of each type, generated ones too, and with UNIQUE indexes that a seed draws.
struct UniqueTable {
  private static let columns: [DrawnUnique.Column] = [
    .init(id: 1, type: "TEXT"), .init(id: 2, type: "INTEGER"), .init(id: 3, type: "TEXT"),
    .init(id: 4, type: "BOOLEAN"), .init(id: 5, type: "REAL"), .init(id: 6, type: ""),
    .init(id: 7, type: "TEXT"), .init(id: 8, type: "INTEGER"), .init(id: 9, type: "TEXT"),
  ]
  private static let names = [
    1: "id", 2: "n", 3: "name", 4: "deleted", 5: "r", 6: "\"any\"", 7: "low", 8: "size",
    9: "fixed",
  ]
  static let creation = """
    CREATE TABLE t (
      id TEXT NOT NULL PRIMARY KEY, n INTEGER, name TEXT COLLATE NOCASE,
      deleted BOOLEAN NOT NULL DEFAULT 0, r REAL, "any", fixed TEXT NOT NULL DEFAULT 'Dune',
      low TEXT AS (lower(name) || n), size INTEGER COLLATE RTRIM AS (length(fixed) || '') STORED)
    """
  private static let settable = ["n", "name", "deleted", "r", "any", "fixed"]
  private static let values = [
    "NULL", "0", "1", "2", "'0'", "'1'", "' 1'", "'01'", "1.0", "0.5", "'0.5'", "x'31'", "x'00'",
    "''", "'Dune'", "'dune'", "'DUNE '", "'Emma'", "'never'", "'Ünder'", "9007199254740993",
    "'1e2'",
  ]

  var random: SeededGenerator
  let indexes: [String]

  init(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    indexes = (1...Int.random(in: 1...2, using: &random)).map {
      DrawnUnique($0, over: Self.columns, using: &random).creation(on: "t", Self.names)
    }
    self.random = random
  }

  func device(_ id: UInt64, deletes: DeleteRule = .deleteWins) throws -> Device {
    try Device(SyncSchema(version: 1, tables: [SyncTable("t", deletes: deletes)]), id: id) { db in
      for sql in [Self.creation] + indexes { try db.execute(sql: sql) }
    }
  }

  /// Some columns, in quotes, and what is written to them.
  mutating func row() -> [(column: String, value: String)] {
    Self.settable.filter { _ in random.happens(0.7) }
      .map { ("\"\($0)\"", Self.values.randomElement(using: &random)!) }
  }

  func insert(_ key: String, _ row: [(column: String, value: String)], _ clause: String) -> String {
    "INSERT OR \(clause) INTO t (\((["id"] + row.map(\.column)).joined(separator: ", "))) "
      + "VALUES (\((["'\(key)'"] + row.map(\.value)).joined(separator: ", ")))"
  }

  mutating func fill(_ device: Device) throws {
    for number in 0..<12 { try device.execute(insert("\(number)", row(), "IGNORE")) }
  }

  static func keys(_ db: Database) throws -> Set<String> {
    Set(try String.fetchAll(db, sql: "SELECT id FROM t"))
  }
}
