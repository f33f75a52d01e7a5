import Foundation
import GRDB
import Tern
import TernJobs

/// What a person keeps and chooses.
extension TranslateDatabase {
  /// Keeps a translation, by its question's id.
  ///
  /// - Returns: whether there is one.
  func keep(_ id: String) async throws -> Bool {
    let entry = try await pool.read { try Entry.find(id, in: $0) }
    guard let entry, let translation = entry.translation else { return false }
    try await act { db in
      try db.execute(
        sql: "INSERT OR IGNORE INTO favorite VALUES (?, ?, ?, ?, ?)",
        arguments: [
          entry.found ?? entry.from, entry.to, entry.text, translation,
          Int64(Date().timeIntervalSince1970 * 1_000_000),
        ])
    }
    return true
  }

  /// Lets a translation go that is kept.
  func letGo(_ text: String, from source: String, to target: String) async throws {
    try await act { db in
      try db.execute(
        sql: "DELETE FROM favorite WHERE source = ? AND target = ? AND text = ?",
        arguments: [source, target, text])
    }
  }

  /// Takes a question out of the history, with what came of it.
  func remove(_ id: String) async throws {
    try await act { db in
      let job = try Int64.fetchOne(
        db, sql: "SELECT job FROM waiting WHERE phrase = ?", arguments: [id])
      try db.execute(sql: "DELETE FROM answer WHERE phrase = ?", arguments: [id])
      try db.execute(sql: "DELETE FROM phrase WHERE id = ?", arguments: [id])
      guard let job else { return }
      try jobs.cancel(JobID(rawValue: job), in: db)
      try goOn(in: db)
    }
  }

  /// Takes all answered questions out of the history; the favorites stay.
  func clearHistory() async throws {
    try await act { db in
      try db.execute(sql: "DELETE FROM phrase WHERE id IN (SELECT phrase FROM answer)")
      try db.execute(sql: "DELETE FROM answer")
    }
  }

  /// Forgets the translations that are kept on this device for those who ask the same again.
  func forgetTranslations() async throws {
    try await pool.write { try $0.execute(sql: "DELETE FROM cache") }
  }

  /// - Parameter value: one that the setting accepts.
  func choose(_ setting: Setting, _ value: String, model: String? = nil) async throws {
    // That somebody knows the page by now is nothing to take back.
    if setting == .welcomed {
      return try await pool.write { db in
        try replica.writeWithoutUndo(in: db) { try Settings.set(setting, to: value, in: $0) }
      }
    }
    guard setting.isLocal else {
      return try await act { try Settings.set(setting, to: value, in: $0) }
    }
    let values = [setting: value].merging(model.map { [.model: $0] } ?? [:]) { $1 }
    try await pool.write { try set(own: values, in: $0) }
  }
}
