import GRDB
import Tern

/// A row of what was taken back.
struct UndoneRow: Sendable {
  var table: String
  var key: [String]
  var action: UndoneOperation.Row.Action
}

extension TranslateDatabase {
  /// Does what a person wants, and syncs; an undo takes back that then, and no setting of this device.
  func act<T: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> T
  ) async throws -> T {
    try await replica.write { db in
      try db.execute(sql: "DELETE FROM localUndo")
      return try body(db)
    }
  }

  /// Takes back this device's last action: its own settings as they were before, or of a file or a pipe
  /// all that it brought, however many parts it was kept in.
  ///
  /// - Returns: the rows, the latest part's first; empty when there was nothing.
  func undo() async throws -> [UndoneRow] {
    let own = try await pool.write { try undoOwn(in: $0) }
    guard own.isEmpty else { return own }
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
    try await pool.write { [rows] db in
      try replica.writeWithoutUndo(in: db) { db in
        try db.execute(sql: "DELETE FROM answer WHERE phrase NOT IN (SELECT id FROM phrase)")
      }
      // A question that waited when it was removed waits again.
      for row in rows where row.table == "phrase" && row.action == .broughtBack {
        try db.execute(
          sql: """
            INSERT OR IGNORE INTO waiting (phrase)
            SELECT id FROM phrase WHERE id = ? AND id NOT IN (SELECT phrase FROM answer)
            """, arguments: [row.key.first?.string])
      }
      try goOn(in: db)
    }
    return rows.map {
      UndoneRow(table: $0.table, key: $0.key.compactMap(\.string), action: $0.action)
    }
  }

  private func undoOwn(in db: Database) throws -> [UndoneRow] {
    let rows = try Row.fetchAll(db, sql: "SELECT name, value FROM localUndo ORDER BY name")
    var values: [Setting: String?] = [:]
    for row in rows {
      if let setting = Setting(rawValue: row[0]) { values[setting] = .some(row[1]) }
    }
    guard !values.isEmpty else { return [] }
    try set(own: values, in: db)
    try db.execute(sql: "DELETE FROM localUndo")
    return rows.map {
      UndoneRow(
        table: "setting", key: [$0[0]], action: ($0[1] as String?) == nil ? .removed : .restored)
    }
  }
}
