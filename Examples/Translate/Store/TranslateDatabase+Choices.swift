import ExampleService
import Foundation
import GRDB
import Tern
import TernJobs

/// What a person keeps, chooses, removes and takes back.
extension TranslateDatabase {
  /// Keeps a translation, by its question's id; whether there is one.
  func keep(_ id: String) async throws -> Bool {
    try await replica.write { db in
      guard let entry = try Entry.find(id, in: db), let translation = entry.translation
      else { return false }
      try Favorite(
        source: entry.found ?? entry.from, target: entry.to, text: entry.text,
        translation: translation, addedAt: Int64(Date().timeIntervalSince1970 * 1_000_000)
      ).insert(db, onConflict: .ignore)
      return true
    }
  }

  func letGo(_ text: String, from source: String, to target: String) async throws {
    try await replica.write { db in
      _ = try Favorite.deleteOne(db, key: ["source": source, "target": target, "text": text])
    }
  }

  /// Takes a question out of the history, with what came of it.
  func remove(_ id: String) async throws {
    try await replica.write { db in
      let job = try jobs.unfinished(AnswerJob.self, uniqueBy: id, in: db)
      try Answer.deleteOne(db, key: id)
      try Question.deleteOne(db, key: id)
      if let job { try jobs.cancel(job, in: db) }
      try enqueueNext(in: db)
    }
  }

  /// Takes all answered questions out of the history; the favorites stay.
  func clearHistory() async throws {
    try await replica.write { db in
      try db.execute(sql: "DELETE FROM phrase WHERE id IN (SELECT phrase FROM answer)")
      try db.execute(sql: "DELETE FROM answer")
    }
  }

  /// - Parameter model: chosen with a service, so that no question goes to a model of the other.
  /// - Throws: ``Refusal`` for what the setting can't be.
  func choose(_ setting: Setting, _ value: String, model: String? = nil) async throws {
    let model = setting == .service ? model : nil
    for (setting, value) in [(setting, value), (.model, model ?? "-")]
    where !setting.accepts(value) {
      throw Refusal(Word.badSetting.text(setting.rawValue, value))
    }
    guard setting.isLocal || setting == .welcomed else {
      return try await replica.write { try Settings.set(setting, to: value, in: $0) }
    }
    // That somebody knows the page by now is nothing to take back.
    try await pool.write { db in
      try replica.writeWithoutUndo(in: db) { db in
        try Settings.set(setting, to: value, in: db)
        if let model { try Settings.set(.model, to: model, in: db) }
      }
      if setting.isLocal { try askNow(in: db) }
    }
  }

  /// Takes back this device's last action: of a file or a pipe all that it brought, however many parts
  /// it was kept in.
  ///
  /// - Returns: the rows, the latest part's first; empty when there was nothing.
  func undo() async throws -> [UndoneOperation.Row] {
    var rows: [UndoneOperation.Row] = []
    repeat {
      let undone = try await replica.undo { db, rows in
        // A turn of a conversation is an action by itself; a pipe has a conversation of its own.
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
      for row in rows where row.table == "phrase" && row.action == .removed {
        let id = row.key.first?.string ?? ""
        let job = try jobs.unfinished(AnswerJob.self, uniqueBy: id, in: db)
        if let job { try jobs.cancel(job, in: db) }
      }
      try enqueueNext(in: db)
    }
    return rows
  }
}
