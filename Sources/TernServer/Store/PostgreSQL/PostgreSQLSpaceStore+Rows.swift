#if PostgreSQL
import TernCore

extension PostgreSQLSpaceStore: MovableStore {
  package func readRows<Value>(
    of space: SpaceName, _ body: (RawRows) throws -> Value
  ) throws -> Value? {
    try read(space) { db in
      let row = try db.run(
        "SELECT id FROM \(schema("space")) WHERE name = $1", [.text(space.text)]
      ).first
      return try row.map {
        try body(
          RawRows(db: PostgreSQLRowDatabase(db: db, schema: schema), space: $0.integer(0)))
      }
    }
  }

  package func updateRows<Value: Sendable>(
    of space: SpaceName, _ body: (any SpaceTransaction, RawRows) throws -> Value
  ) throws -> Value {
    try updating(space, push: nil) { own in
      try body(
        own, RawRows(db: PostgreSQLRowDatabase(db: own.db, schema: schema), space: own.id))
    }
  }
}

/// A database inside a transaction.
struct PostgreSQLRowDatabase: RowDatabase {
  let db: PostgreSQLConnection
  let schema: PostgreSQLSchema

  var keepsBytesApart: Bool { true }

  func table(_ name: String) -> String { schema(name) }

  func run(_ sql: String, _ values: [RawParameter]) throws -> [[StoredValue]] {
    let rows = try db.run(sql, values.map { PostgreSQLValue($0) })
    return (0..<rows.count).map { rows[$0].values }
  }
}

extension PostgreSQLValue {
  fileprivate init(_ parameter: RawParameter) {
    switch parameter.kind {
    case .integer: self = .integer(parameter.value.integer)
    case .text: self = .text(parameter.value.text)
    case .bytes: self = .bytes(parameter.value.bytes)
    }
  }
}
#endif
