import Foundation
import GRDB
import TernCore
import TernDatabase

/// Reads the inbox, and takes from it, through GRDB, so that observations know what they look at.
struct Inbox {
  let db: Database
  let tables: StoreTables
  let sql: [TableSQL]

  /// The newest first; entries of tables that do not sync any more are left out.
  func entries() throws -> [InboxEntry] {
    try Row.fetchAll(
      db,
      sql: """
        SELECT i.*, l.id AS loser_id, w.id AS winner_id FROM \(tables.inbox) AS i
        JOIN \(tables.author) AS l ON l.idx = i.loser JOIN \(tables.author) AS w ON w.idx = i.winner
        ORDER BY i.id DESC
        """
    ).compactMap(entry)
  }

  /// - Returns: `nil` for a table or columns that do not sync any more.
  private func entry(_ row: Row) throws -> InboxEntry? {
    let id: Int64 = row["tbl"]
    guard let shape = sql.first(where: { $0.shape.id == id })?.shape else { return nil }
    guard let kind = ConflictKind(rawValue: row["kind"]) else { return nil }
    let key = try Array(row["key"] as Data).withUnsafeBytes { try PackedKey.values($0) }
    let content = try Array(row["content"] as Data).withUnsafeBytes {
      try HeldTable.readContent($0)
    }
    let values = shape.present(content)
    if values.isEmpty { return nil }
    return InboxEntry(
      id: row["id"], table: shape.name, key: key, kind: kind, values: values,
      loser: try stamp(row, "loser"), winner: try stamp(row, "winner"),
      found: Date(timeIntervalSince1970: Double(row["found_ms"] as Int64) / 1000))
  }

  private func stamp(_ row: Row, _ name: String) throws -> WriteStamp {
    guard let author = ReplicaID(bytes: row["\(name)_id"] as Data) else {
      throw ReplicaError(.damaged, "table \(tables.author) holds an id that is none")
    }
    let time = HybridTime(rawValue: UInt64(bitPattern: row["\(name)_time"] as Int64))
    return WriteStamp(author: author, time: time, isOwn: row[name] == 0)
  }
}

extension Inbox {
  init(_ store: SQLiteReplicaStore, _ db: Database) {
    self.init(db: db, tables: store.tables, sql: store.sql)
  }

  init(_ transaction: StoreTransaction) {
    self.init(db: transaction.db, tables: transaction.tables, sql: transaction.sql)
  }

  /// Takes an entry out.
  ///
  /// - Throws: ``InboxError`` when it is not there.
  func remove(_ entry: InboxEntry) throws {
    guard try entries().contains(entry) else {
      throw InboxError(
        .missingEntry, "the inbox does not hold the entry any more; read it again")
    }
    try db.execute(sql: "DELETE FROM \(tables.inbox) WHERE id = ?", arguments: [entry.id])
  }
}
