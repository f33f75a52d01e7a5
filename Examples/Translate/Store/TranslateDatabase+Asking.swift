import Foundation
import GRDB
import Tern

/// What somebody wants to know.
struct Question: Sendable {
  var id = UUID().uuidString.lowercased()
  var text: String
  /// A code, or `auto`.
  var source: String
  var target: String
  var conversation: String
  /// Where it goes, and which model answers; `nil` for what the settings say when its turn comes.
  var service, model: String?
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
    try await act { db in
      let settings = try Settings(in: db)
      for question in questions {
        try db.execute(
          sql: """
            INSERT INTO phrase SELECT ?, ?, ?, ?, ?,
              max(?, coalesce((SELECT max(askedAt) FROM phrase), 0) + 1)
            """,
          arguments: [
            question.id, question.conversation, question.source, question.target, question.text,
            Int64(Date().timeIntervalSince1970 * 1_000_000),
          ])
        let answer = try cached(
          question.text, from: question.source, to: question.target,
          model: question.model ?? settings[.model], in: db)
        if let answer {
          try insert(answer, for: question.id, in: db)
        } else {
          try db.execute(
            sql: "INSERT INTO waiting (phrase, service, model) VALUES (?, ?, ?)",
            arguments: [question.id, question.service, question.model])
        }
      }
      try body(db)
      try trim(db)
      for service in Set(questions.map { $0.service ?? settings[.service] }) {
        try goOn(with: service, in: db)
      }
      return questions.map(\.id)
    }
  }

  /// Lets no answer of a conversation go while somebody waits to be told of it, however many there
  /// are; until the program dies, and for a day at most.
  func holding(_ conversation: String, _ body: () async throws -> Void) async throws {
    try await pool.write { db in
      try db.execute(
        sql: "INSERT OR REPLACE INTO asker VALUES (?, unixepoch(), ?)",
        arguments: [conversation, getpid()])
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
    if answer.text == nil {
      try db.execute(
        sql: """
          INSERT OR REPLACE INTO failed (phrase, service, model, isOwn)
          SELECT phrase, service, model, TRUE FROM waiting WHERE phrase = ?
          """, arguments: [id])
    }
    try db.execute(sql: "DELETE FROM waiting WHERE phrase = ?", arguments: [id])
    guard db.changesCount > 0 else { return }
    // Another program may wait for it.
    try jobs.announce(in: db)
    try replica.writeWithoutUndo(in: db) { db in
      try insert(answer, for: id, in: db)
      // Who holds a conversation trims when it lets it go: until then there may be any number.
      if try !isHeld(id, in: db) { try trim(db) }
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

  /// Puts every question that ended here without a translation in line again, in the order asked, for
  /// the service and the model that it named. Those of other devices are theirs to ask again.
  ///
  /// - Parameter id: of the only question that is meant.
  /// - Returns: whether there was one.
  @discardableResult
  func retry(only id: String? = nil) async throws -> Bool {
    try await forgetOthersFailures()
    return try await pool.write { db in
      try db.execute(
        sql: """
          INSERT OR IGNORE INTO waiting (phrase, service, model)
          SELECT failed.phrase, failed.service, failed.model FROM failed
          JOIN answer ON answer.phrase = failed.phrase JOIN phrase ON id = failed.phrase
          WHERE problem IS NOT NULL AND id = coalesce(?, id) ORDER BY askedAt
          """, arguments: [id])
      let count = db.changesCount
      try replica.writeWithoutUndo(in: db) { db in
        try db.execute(
          sql: """
            DELETE FROM answer WHERE problem IS NOT NULL
              AND phrase IN (SELECT phrase FROM failed WHERE phrase = coalesce(?, phrase))
            """, arguments: [id])
      }
      try db.execute(
        sql: "DELETE FROM failed WHERE phrase = coalesce(?, phrase)", arguments: [id])
      return count > 0
    }
  }

  /// Two devices that both ask a question again would delete and answer one row at the same time.
  private func forgetOthersFailures() async throws {
    let unknown = try await pool.read {
      try String.fetchAll($0, sql: "SELECT phrase FROM failed WHERE isOwn IS NULL")
    }
    for phrase in unknown {
      let row = try await replica.explain("phrase", key: [.string(phrase)], limit: 1)
      let isOwn = row.columns.allSatisfy { $0.stamp?.isOwn ?? true }
      try await pool.write { db in
        try db.execute(
          sql: isOwn
            ? "UPDATE failed SET isOwn = TRUE WHERE phrase = ?"
            : "DELETE FROM failed WHERE phrase = ?", arguments: [phrase])
      }
    }
  }

  /// What the model said of the same text and languages.
  func cached(
    _ text: String, from source: String, to target: String, model: String, in db: Database
  ) throws -> Answer? {
    try String.fetchOne(
      db,
      sql: """
        SELECT translation FROM cache WHERE text = ? AND source = ? AND target = ? AND model = ?
        """, arguments: [text, source, target, model]
    ).map { try JSONDecoder().decode(Answer.self, from: Data($0.utf8)) }
  }

  private func insert(_ answer: Answer, for id: String, in db: Database) throws {
    let alternatives = String(
      decoding: try JSONEncoder().encode(answer.alternatives), as: UTF8.self)
    try db.execute(
      sql: """
        INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (phrase) DO UPDATE SET text = excluded.text, source = excluded.source,
          engine = excluded.engine, confidence = excluded.confidence,
          alternatives = excluded.alternatives, isOffline = excluded.isOffline,
          problem = excluded.problem, detail = excluded.detail
        """,
      arguments: [
        id, answer.text, answer.source, answer.engine, answer.confidence, alternatives,
        answer.isOffline, answer.problem, answer.detail,
      ])
  }

  private func isHeld(_ id: String, in db: Database) throws -> Bool {
    try Bool.fetchOne(
      db,
      sql: "SELECT EXISTS (SELECT 1 FROM asker JOIN phrase USING (conversation) WHERE id = ?)",
      arguments: [id]) ?? false
  }

  /// What waits for an answer, here or on another device, is not counted, and stays; so does what
  /// somebody is yet to be told of.
  private func trim(_ db: Database) throws {
    try db.execute(sql: "DELETE FROM asker WHERE since < unixepoch() - 86400")
    for asker in try pid_t.fetchSet(db, sql: "SELECT process FROM asker")
    where kill(asker, 0) != 0 && errno == ESRCH {
      try db.execute(sql: "DELETE FROM asker WHERE process = ?", arguments: [asker])
    }
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
