import GRDB
import ReplicaStoreKit
import Synchronization
import Tern
import Testing

/// A clock that moves a little whenever it is read, so that order in a test is order in time.
private final class TickingClock: Sendable {
  private let milliseconds = Mutex<Int64>(1_700_000_000_000)
  func read() -> Int64 {
    milliseconds.withLock {
      $0 += 1
      return $0
    }
  }
}

/// The replica stores in the box.
enum ReplicaStoreKind: String, CaseIterable, CustomTestStringConvertible {
  case memory = "the memory store"
  case sqlite = "the SQLite store"

  var testDescription: String { rawValue }

  var conformance: ReplicaStoreConformance {
    switch self {
    case .memory: Self.memoryConformance
    case .sqlite: Self.sqliteConformance
    }
  }

  private static var memoryConformance: ReplicaStoreConformance {
    let clock = TickingClock()
    return ReplicaStoreConformance { id in
      let store = try MemoryReplicaStore(
        id: id, schema: ReplicaStoreConformance.schema, tables: ReplicaStoreConformance.tables,
        wallMilliseconds: { clock.read() })
      return .init(store: store) { changes in
        try store.write { writer in
          for change in changes { try writer.apply(change) }
        }
      }
    }
  }

  private static var sqliteConformance: ReplicaStoreConformance {
    ReplicaStoreConformance { id in
      let database = try DatabaseQueue()
      try database.write { try $0.execute(sql: ReplicaStoreConformance.creationSQL) }
      let replica = try Replica.openBlocking(
        database, schema: ReplicaStoreConformance.schema, makeID: { id })
      return .init(store: replica.store) { changes in
        try database.write { db in
          for change in changes { try db.apply(change) }
        }
      }
    }
  }
}

extension MemoryWriter {
  fileprivate mutating func apply(_ change: ReplicaStoreConformance.Change) throws {
    switch change {
    case .insert(let row, let table): try insert(table, row)
    case .replace(let row, let table): try replace(table, row)
    case .update(let row, let table): try update(table, row)
    case .delete(let id, let table): try delete(table, ["id": id])
    }
  }
}

extension Database {
  fileprivate func apply(_ change: ReplicaStoreConformance.Change) throws {
    switch change {
    case .insert(let row, let table), .replace(let row, let table):
      let columns = row.sorted { $0.key < $1.key }
      let marks = columns.map { _ in "?" }.joined(separator: ", ")
      let verb = if case .replace = change { "REPLACE" } else { "INSERT" }
      try execute(
        sql: "\(verb) INTO \(table) (\(columns.map(\.key).joined(separator: ", "))) "
          + "VALUES (\(marks))",
        columns.map(\.value))
    case .update(let row, let table):
      let columns = row.filter { $0.key != "id" }.sorted { $0.key < $1.key }
      let sets = columns.map { "\($0.key) = ?" }.joined(separator: ", ")
      try execute(
        sql: "UPDATE \(table) SET \(sets) WHERE id = ?", columns.map(\.value) + [row["id"]!])
    case .delete(let id, let table):
      try execute(sql: "DELETE FROM \(table) WHERE id = ?", [id])
    }
  }

  /// Binds through the C path, because text need not be valid UTF-8.
  private func execute(sql: String, _ values: [SQLiteValue]) throws {
    let statement = try FastStatement(self, sql)
    for (index, value) in values.enumerated() { statement.bind(Int32(index + 1), copy: value) }
    try statement.run()
  }
}
