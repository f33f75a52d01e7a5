import GRDB
import TernCore
import TernDatabase

extension Replica {
  /// Why a row is as it is: who wrote what stands, by which rule, and what lost.
  ///
  /// ```swift
  /// print(try await replica.explain("book", key: [.string(isbn)]))
  /// ```
  ///
  /// Seals what was written first, as a push does, so that all of it has an author and a time.
  ///
  /// Cost: one pass over the log's bytes, beside the app's own reads and writes where the database
  /// is a pool. SQLite looks for the key in them, and only what holds it is decoded; in memory are
  /// one operation and the answer.
  ///
  /// - Parameters:
  ///   - key: a value for each column of the primary key, in its order and with the table's types.
  ///   - limit: how many writes to tell of for each column: the newest, and the one that stands.
  /// - Throws: ``RowLookupError`` for a table that does not sync or a key of another width,
  ///   ``ReplicaError``, and `DatabaseError`.
  public func explain(_ table: String, key: [SQLiteValue], limit: Int = 100) async throws
    -> RowExplanation
  {
    let store = store
    let (row, standing) = try await BlockingWork.shared.run {
      let (sql, row) = try store.sql.row(table, key: key)
      try store.sealNews()
      return (row, try store.readSealed { try StandingRow(row, sql, in: $0) })
    }
    return try await Self.reading.run {
      var pass = ExplainPass(row, standing, limit: limit)
      try store.access.read { try pass.read($0) }
      return try pass.explanation()
    }
  }

  /// The changes of a row that are in the log, this device's and those of others, the earliest
  /// first, a page at a time.
  ///
  /// ```swift
  /// var page = try await replica.history("book", key: [.string(isbn)])
  /// for change in page.changes { print(change) }
  /// while let next = page.next {
  ///   page = try await replica.history("book", key: [.string(isbn)], after: next)
  ///   for change in page.changes { print(change) }
  /// }
  /// ```
  ///
  /// Seals what was written first, as a push does. What every remote holds and is older than the
  /// log is kept (``open(_:schema:migrator:name:durability:logRetention:inbox:)``) is not told. An
  /// operation whose content cannot be read is passed over: ``ReplicaCounts/pending`` names
  /// one.
  ///
  /// Cost: all pages together read the log's bytes about once; SQLite looks for the key in them,
  /// and only what holds it is decoded. In memory are a page and one operation.
  ///
  /// - Parameters:
  ///   - key: a value for each column of the primary key, in its order and with the table's types.
  ///   - position: where the page before ended.
  ///   - limit: the fewest changes that a page ends after; those of one operation stay together.
  /// - Throws: ``RowLookupError`` for a table that does not sync or a key of another width,
  ///   ``ReplicaError``, and `DatabaseError`.
  public func history(
    _ table: String, key: [SQLiteValue], after position: RowHistory.Position? = nil,
    limit: Int = 100
  ) async throws -> RowHistory {
    let store = store
    let row = try await BlockingWork.shared.run {
      let (_, row) = try store.sql.row(table, key: key)
      try store.sealNews()
      return row
    }
    return try await Self.reading.run {
      try store.access.read { try HistoryPass($0, row).page(after: position, limit: limit) }
    }
  }

  /// A thread of its own, so that no sync waits for a long look into the log.
  private static let reading = BlockingWork(label: "tern.explain")
}

extension [TableSQL] {
  /// - Throws: ``RowLookupError``.
  func row(_ table: String, key: [SQLiteValue]) throws -> (TableSQL, LoggedRow) {
    let sql = try self.table(table)
    return (sql, try LoggedRow(sql.shape, key: key))
  }

  /// - Throws: ``RowLookupError``.
  func table(_ name: String) throws -> TableSQL {
    guard let sql = first(where: { $0.shape.name.folded == name.folded }) else {
      let names = map(\.shape.name).sorted().joined(separator: ", ")
      throw RowLookupError(
        .unknownTable, table: name, "the replica does not sync it; it syncs \(names)")
    }
    return sql
  }
}
