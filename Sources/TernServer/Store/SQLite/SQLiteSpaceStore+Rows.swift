#if Server
import Foundation
import GRDB

extension SQLiteSpaceStore: MovableStore {
  package func readRows<Value>(
    of space: SpaceName, _ body: (RawRows) throws -> Value
  ) throws -> Value? {
    try pool.read { db in
      try Int64.fetchOne(db, sql: "SELECT id FROM space WHERE name = ?", arguments: [space.text])
        .map { try body(RawRows(db: SQLiteRowDatabase(db: db), space: $0)) }
    }
  }

  package func updateRows<Value: Sendable>(
    of space: SpaceName, _ body: (any SpaceTransaction, RawRows) throws -> Value
  ) throws -> Value {
    try updating(space) { own in
      try body(own, RawRows(db: SQLiteRowDatabase(db: own.db), space: own.id))
    }
  }
}

/// A data file inside a transaction.
struct SQLiteRowDatabase: RowDatabase {
  let db: Database

  var keepsBytesApart: Bool { false }

  func table(_ name: String) -> String { name }

  func run(_ sql: String, _ values: [RawParameter]) throws -> [[StoredValue]] {
    let statement = try db.cachedStatement(sql: sql.replacing("$", with: "?"))
    let rows = try Row.fetchCursor(
      statement, arguments: StatementArguments(values.map { DatabaseValue($0.value) }))
    var all: [[StoredValue]] = []
    while let row = try rows.next() {
      all.append(try row.databaseValues.map { try StoredValue($0) })
    }
    return all
  }
}

extension DatabaseValue {
  fileprivate init(_ value: StoredValue) {
    switch value {
    case .null: self = .null
    case .integer(let number): self = number.databaseValue
    case .text(let text): self = text.databaseValue
    case .bytes(let bytes): self = Data(bytes).databaseValue
    }
  }
}

extension StoredValue {
  /// - Throws: ``StoreError`` for a number that no column takes, as the tables are `STRICT`.
  fileprivate init(_ value: DatabaseValue) throws {
    switch value.storage {
    case .null: self = .null
    case .int64(let number): self = .integer(number)
    case .string(let text): self = .text(text)
    case .blob(let data): self = .bytes(Array(data))
    case .double(let number):
      throw StoreError(
        .damaged,
        "the file has \(number) where only whole numbers, texts and bytes are; see 'tern doctor'")
    }
  }
}
#endif
