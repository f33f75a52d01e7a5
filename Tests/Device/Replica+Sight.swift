import Foundation
import GRDB
import Tern
import TernCore

extension Replica {
  /// Living rows of the state that are neither in their table nor in the inbox, dismissed ones aside
  /// (INV-14). Only of a replica whose writes are all sealed.
  package func rowsOutOfSight() throws -> [String] {
    let hidden = try store.canonicalState()
      .filter { $0.life % 2 == 1 && $0.author != nil && !$0.isShown }
    if hidden.isEmpty { return [] }
    let (listed, deleted) = try store.database.unsafeRead { db in
      (
        Set(try inbox(limit: .max, in: db).filter { $0.id < 0 }.map(name)),
        try deletedRows(db)
      )
    }
    return hidden.map { "\($0.table) \($0.key)" }
      .filter { !listed.contains($0) && !deleted.contains($0) }
  }

  /// What follows from the state in the inbox, in words that are the same on every device.
  package func entriesOfState() throws -> [String] {
    try store.database.unsafeRead { try inbox(limit: .max, in: $0) }.filter { $0.id < 0 }.map {
      entry in
      let values = entry.values.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
      let stamps = [entry.loser, entry.winner].map {
        $0.map { "\($0.author) \($0.time)" } ?? "nobody"
      }
      return "\(name(entry)), \(entry.kind), \(values), \(entry.rows), \(stamps)"
    }.sorted()
  }

  private func name(_ entry: InboxEntry) -> String { "\(entry.table) \(entry.key)" }

  /// Those that a change may bring back: their life goes on.
  private func deletedRows(_ db: Database) throws -> Set<String> {
    guard try db.tableExists("grdb_tern_main_kept") else { return [] }
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT t.name, k.key FROM grdb_tern_main_kept AS k
        JOIN grdb_tern_main_table AS t ON t.id = k.tbl
        """)
    return Set(
      try rows.map { row in
        let key = try Array(row["key"] as Data).withUnsafeBytes { try PackedKey.values($0) }
        return "\(row["name"] as String) \(key)"
      })
  }
}
