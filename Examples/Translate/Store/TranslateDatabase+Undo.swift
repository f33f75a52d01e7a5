import GRDB
import Tern

extension TranslateDatabase {
  /// Takes back this device's last action: of a file or a pipe all that it brought, however many parts
  /// it was kept in.
  ///
  /// - Returns: the rows, the latest part's first; empty when there was nothing.
  func undo() async throws -> [UndoneOperation.Row] {
    var rows: [UndoneOperation.Row] = []
    repeat {
      let undone = try await replica.undo { db, rows in
        // Each turn of a chat is an action by itself; any other command has a conversation of its own.
        for row in rows where row.table == "phrase" {
          let conversation = try String.fetchOne(
            db,
            sql: """
              SELECT conversation FROM phrase
              WHERE id = ? AND conversation NOT IN (SELECT id FROM conversation)
              """, arguments: [row.key.first?.string])
          if let conversation { return conversation }
        }
        return nil as String?
      }
      if undone.isEmpty { return [] }
      rows = undone.flatMap(\.rows)
      // Of what has left the history since, nothing can be taken back.
    } while rows.allSatisfy { $0.action == .left && ["phrase", "answer"].contains($0.table) }
    try await pool.write { db in
      try replica.writeWithoutUndo(in: db) { db in
        try db.execute(sql: "DELETE FROM answer WHERE phrase NOT IN (SELECT id FROM phrase)")
      }
    }
    return rows
  }
}
