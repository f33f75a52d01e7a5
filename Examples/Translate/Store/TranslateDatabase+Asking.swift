import Foundation
import GRDB
import Tern

/// What somebody wants to know.
struct Question: Sendable {
  var text: String
  /// A code, or `auto`.
  var source: String
  var target: String
  var conversation: String
  /// Whose answers of earlier are taken.
  var model: String
}

/// Questions go in by one transaction, and their answers by another: whatever happens in between, a
/// question is there once, and so is its answer.
extension TranslateDatabase {
  /// How many answered questions are kept, and how many translations for those who ask again.
  static let mostPhrases = 500
  static let mostCached = 5000

  /// Keeps questions, in their order; they are safe when this returns. One that was answered before
  /// is answered at once.
  ///
  /// - Parameter body: what else belongs to the same action.
  func ask(
    _ questions: [Question], and body: @escaping @Sendable (Database) throws -> Void = { _ in }
  ) async throws -> [String] {
    try await replica.write { db in
      let ids = try questions.map { question in
        let id = UUID().uuidString.lowercased()
        try db.execute(
          sql: """
            INSERT INTO phrase SELECT ?, ?, ?, ?, ?,
              max(?, coalesce((SELECT max(askedAt) FROM phrase), 0) + 1)
            """,
          arguments: [
            id, question.conversation, question.source, question.target, question.text,
            Int64(Date().timeIntervalSince1970 * 1_000_000),
          ])
        if let answer = try cached(question, in: db) {
          try insert(answer, for: id, in: db)
        } else {
          try db.execute(sql: "INSERT INTO waiting (phrase) VALUES (?)", arguments: [id])
        }
        return id
      }
      try body(db)
      try trim(db)
      try goOn(in: db)
      return ids
    }
  }

  /// Lets no answer of a conversation go while somebody waits to be told of it, however many there
  /// are; for a day at most, should the program die.
  func holding(_ conversation: String, _ body: () async throws -> Void) async throws {
    try await pool.write { db in
      try db.execute(
        sql: "INSERT OR REPLACE INTO asker VALUES (?, unixepoch())", arguments: [conversation])
    }
    let result: Result<Void, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    // What went wrong first is what is said.
    do { try await release(conversation) } catch {
      try result.get()
      throw error
    }
    try result.get()
  }

  private func release(_ conversation: String) async throws {
    try await pool.write { db in
      try db.execute(sql: "DELETE FROM asker WHERE conversation = ?", arguments: [conversation])
      try replica.writeWithoutUndo(in: db) { try trim($0) }
    }
  }

  /// Keeps what came of a question that waits, as the app's own doing. Of one that waits no more, e.g.
  /// because it was taken back, nothing is kept.
  ///
  /// - Parameter model: whose answer it is, for those who ask the same again; `nil` for one that is
  ///   not to be used again.
  func settle(_ id: String, _ answer: Answer, model: String?, in db: Database) throws {
    try db.execute(sql: "DELETE FROM waiting WHERE phrase = ?", arguments: [id])
    guard db.changesCount > 0 else { return }
    try replica.writeWithoutUndo(in: db) { db in
      try insert(answer, for: id, in: db)
      try trim(db)
    }
    guard let model, answer.text != nil else { return }
    try db.execute(
      sql: """
        INSERT OR REPLACE INTO cache (text, source, target, model, translation)
        SELECT text, source, target, ?, ? FROM phrase WHERE id = ?
        """, arguments: [model, String(decoding: JSONEncoder().encode(answer), as: UTF8.self), id])
    try db.execute(
      sql: "DELETE FROM cache WHERE number <= (SELECT max(number) FROM cache) - ?",
      arguments: [Self.mostCached])
  }

  /// Sees to it that the first question that waits has a job, and one only.
  func goOn(after done: JobID? = nil, in db: Database) throws {
    let alive = try jobs.records(in: db).contains {
      $0.kind == AnswerJob.kind && !$0.state.hasEnded && !$0.state.isStuck && $0.id != done
    }
    let next = try String.fetchOne(db, sql: "SELECT phrase FROM waiting ORDER BY place LIMIT 1")
    guard !alive, let next else { return }
    try jobs.enqueue(AnswerJob(phrase: next), in: db)
  }

  /// Puts every question that ended without a translation in line again, in the order asked.
  func retry() async throws {
    try await pool.write { db in
      let ids = try String.fetchAll(
        db,
        sql: """
          SELECT id FROM phrase JOIN answer ON phrase = id
          WHERE problem IS NOT NULL ORDER BY askedAt
          """)
      try replica.writeWithoutUndo(in: db) { db in
        try db.execute(sql: "DELETE FROM answer WHERE problem IS NOT NULL")
      }
      for id in ids {
        try db.execute(sql: "INSERT OR IGNORE INTO waiting (phrase) VALUES (?)", arguments: [id])
      }
    }
  }

  /// Takes back this device's last action.
  ///
  /// - Returns: `nil` when there was none.
  func undo() async throws -> UndoneOperation? {
    let undone = try await replica.undo()
    if undone != nil {
      try await pool.write { db in
        try replica.writeWithoutUndo(in: db) { db in
          try db.execute(
            sql: "DELETE FROM answer WHERE phrase NOT IN (SELECT id FROM phrase)")
        }
      }
    }
    return undone
  }

  /// What the model said of the same text and languages.
  func cached(_ question: Question, in db: Database) throws -> Answer? {
    try String.fetchOne(
      db,
      sql: """
        SELECT translation FROM cache WHERE text = ? AND source = ? AND target = ? AND model = ?
        """, arguments: [question.text, question.source, question.target, question.model]
    ).map { try JSONDecoder().decode(Answer.self, from: Data($0.utf8)) }
  }

  private func insert(_ answer: Answer, for id: String, in db: Database) throws {
    let alternatives = String(
      decoding: try JSONEncoder().encode(answer.alternatives), as: UTF8.self)
    try db.execute(
      sql: "INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      arguments: [
        id, answer.text, answer.source, answer.engine, answer.confidence, alternatives,
        answer.isOffline, answer.problem, answer.detail,
      ])
  }

  /// What waits for an answer, here or on another device, is not counted, and stays; so does what
  /// somebody is yet to be told of.
  private func trim(_ db: Database) throws {
    try db.execute(sql: "DELETE FROM asker WHERE since < unixepoch() - 86400")
    let old = try String.fetchAll(
      db,
      sql: """
        SELECT id FROM (
          SELECT id, conversation FROM phrase WHERE id IN (SELECT phrase FROM answer)
          ORDER BY askedAt DESC, id DESC LIMIT -1 OFFSET \(Self.mostPhrases))
        WHERE conversation NOT IN (SELECT conversation FROM asker)
        """)
    for id in old {
      try db.execute(sql: "DELETE FROM answer WHERE phrase = ?", arguments: [id])
      try db.execute(sql: "DELETE FROM phrase WHERE id = ?", arguments: [id])
    }
  }
}
