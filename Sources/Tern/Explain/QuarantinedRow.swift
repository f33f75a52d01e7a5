import Foundation
import GRDB
import TernCore
import TernDatabase

/// A row that is in the state and not in its table: of ``Replica/quarantined(limit:)``.
public struct QuarantinedRow: Hashable, Sendable {
  /// As the schema names it.
  public let table: String
  /// A value for each column of the primary key, in its order.
  public let key: [SQLiteValue]
  public let reason: Reason
  /// What it would show, by column, local columns included; of one without its insert
  /// what has come.
  public let values: [String: SQLiteValue]

  /// ``Replica/explain(_:key:limit:)`` names the rows that are missing or in the way.
  public enum Reason: String, Hashable, Sendable, Codable, CaseIterable {
    /// CHECK, NOT NULL or another constraint of the table refuses it.
    case constraint
    /// A row that it refers to is not in its table.
    case parent
    /// A row that it refers to is deleted: it is in the inbox.
    case parentDeleted
    /// A row that was created earlier holds the same in a UNIQUE index.
    case unique
    /// Changes of it came before its insert.
    case incomplete
    /// It is deleted, or is to be quarantined, and its table refuses to let it go: an expression of
    /// the app's fails, in an index say. The table shows it still.
    case removal
  }
}

extension Replica {
  /// The rows that are in the state and not in their tables, and why.
  ///
  /// ```swift
  /// for row in try await replica.quarantined() {
  ///   print(row.table, row.key, row.reason, row.values)
  /// }
  /// ```
  ///
  /// - Parameter limit: how many to give at most, by table and then by key.
  /// - Throws: `DatabaseError`.
  public func quarantined(limit: Int = 100) async throws -> [QuarantinedRow] {
    let store = store
    return try await BlockingWork.shared.run {
      try store.database.read {
        try QuarantinedRow.all(store.tables, store.sql, limit: limit, in: $0)
      }
    }
  }

  /// ``quarantined(limit:)`` in a transaction of the app's, also for a `ValueObservation`.
  ///
  /// - Throws: `DatabaseError`.
  public func quarantined(limit: Int = 100, in db: Database) throws -> [QuarantinedRow] {
    try QuarantinedRow.all(store.tables, store.sql, limit: limit, in: db)
  }
}

extension QuarantinedRow {
  /// Reads them through GRDB, so that observations know what they look at.
  fileprivate static func all(
    _ tables: StoreTables, _ sql: [TableSQL], limit: Int, in db: Database
  ) throws -> [QuarantinedRow] {
    let shapes = Dictionary(uniqueKeysWithValues: sql.map { ($0.shape.id, $0.shape) })
    // What was quarantined of tables that do not sync any more has no name here.
    let ids = shapes.keys.map { "\($0)" }.joined(separator: ", ")
    return try Row.fetchAll(
      db,
      sql: """
        SELECT tbl, key, content, reason FROM \(tables.held) WHERE tbl IN (\(ids))
        AND reason <> '\(HeldReason.folded)' ORDER BY tbl, key LIMIT ?
        """, arguments: [max(0, limit)]
    ).compactMap { row in
      guard let shape = shapes[row["tbl"]], let reason = HeldReason(rawValue: row["reason"])
      else { return nil }
      let key = try Array(row["key"] as Data).withUnsafeBytes { try PackedKey.values($0) }
      let content = try Array(row["content"] as Data).withUnsafeBytes {
        try HeldTable.readContent($0)
      }
      guard let shown = reason.shown else { return nil }
      var values = shape.present(content)
      // A column that came while the row was quarantined. Of one without its insert nothing is
      // known.
      if shown != .incomplete {
        for column in shape.columns.map(\.name) + shape.localColumns where values[column] == nil {
          values[column] = try db.declaredDefault(of: column, in: shape.name)
        }
      }
      return QuarantinedRow(table: shape.name, key: key, reason: shown, values: values)
    }
  }
}

extension HeldReason {
  fileprivate var shown: QuarantinedRow.Reason? {
    switch self {
    case .constraint: .constraint
    case .parent: .parent
    case .orphaned: .parentDeleted
    case .unique: .unique
    case .incomplete: .incomplete
    case .removal: .removal
    case .deleted, .folded: nil
    }
  }
}
