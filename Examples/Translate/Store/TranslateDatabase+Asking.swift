import ExampleService
import Foundation
import GRDB
import InterpreterClient
import Tern
import TernJobs

/// What somebody wants to know.
struct Question: Codable, FetchableRecord, PersistableRecord, Sendable {
  static let databaseTableName = "phrase"

  var id = UUID().uuidString.lowercased()
  var conversation: String
  /// A code, or `auto`.
  var source: String
  var target: String
  var text: String
  /// Microseconds since 1970, and on one device greater than all before: the order.
  var askedAt: Int64 = 0

  /// In characters.
  static let longest = 10_000

  /// - Throws: ``Refusal`` for what can't be asked.
  func check() throws {
    guard !text.allSatisfy(\.isWhitespace) else { throw Refusal(Word.emptyText.text) }
    guard text.count <= Self.longest else {
      throw Refusal(Word.longText.text(text.count, Self.longest))
    }
    // SQLite would end the text there.
    guard !text.unicodeScalars.contains("\0") else { throw Refusal(Word.zeroText.text) }
    for code in [source, target] where code != "auto" || code == target {
      guard LanguageName.isKnown(code) else { throw Refusal(Word.unknownCode.text(code)) }
    }
    guard source != target else { throw Refusal(Word.sameLanguage.text(target)) }
  }
}

/// A translation for those who ask the same model the same again.
private struct Cached: Codable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "cache"

  var text, source, target, model: String
  var translation: Answer
}

/// Questions go in by one transaction, and their answers by another: whatever happens in between, a
/// question is there once, and so is its answer. The first that waits has a job, and its end enqueues
/// the next one's.
extension TranslateDatabase {
  /// How many answered questions are kept, beside those of the last hour; and how many translations.
  static let (mostPhrases, mostCached) = (500, 5000)

  /// Keeps questions, in their order; they are safe when this returns. One that was answered before
  /// is answered at once; one that is there already, by its id, is not asked again.
  ///
  /// - Parameter talk: whose turn it is then, where two talk: that is a part of the same action.
  func ask(_ questions: [Question], _ talk: Conversation? = nil) async throws {
    try await replica.write { db in
      if let id = questions.first?.id, try Entry.find(id, in: db) != nil { return }
      let model = try Settings(in: db)[.model]
      var last = try Int64.fetchOne(db, sql: "SELECT max(askedAt) FROM phrase") ?? 0
      for var question in questions {
        last = max(last + 1, Int64(Date().timeIntervalSince1970 * 1_000_000))
        question.askedAt = last
        try question.insert(db)
        if let answer = try cached(question, model: model, in: db) {
          try insert(answer, for: question.id, in: db)
        } else {
          try db.execute(sql: "INSERT INTO asked (phrase) VALUES (?)", arguments: [question.id])
        }
      }
      try talk?.save(db)
      try trim(db)
      try enqueueNext(in: db)
    }
  }

  /// Of this device. What is removed waits no more, and waits again once that is undone.
  static let isWaiting = "FROM asked JOIN phrase ON id = phrase WHERE NOT isOver"

  /// A question of this device that waits for its translation.
  func waiting(_ id: String, in db: Database) throws -> Question? {
    try Question.fetchOne(
      db, sql: "SELECT phrase.* \(Self.isWaiting) AND id = ?", arguments: [id])
  }

  /// Keeps what came of a question that waits, as the app's own doing. Of one that waits no more, e.g.
  /// because it was taken back, nothing is kept.
  ///
  /// - Parameter model: whose answer it is, for those who ask the same again; `nil` for one that is
  ///   not to be used again.
  func settle(_ id: String, _ answer: Answer, model: String?, in db: Database) throws {
    guard answer.text != nil || answer.problem != nil, let question = try waiting(id, in: db)
    else { return }
    try db.execute(
      sql: answer.text == nil
        ? "UPDATE asked SET isOver = TRUE WHERE phrase = ?" : "DELETE FROM asked WHERE phrase = ?",
      arguments: [id])
    try replica.writeWithoutUndo(in: db) { db in
      try insert(answer, for: id, in: db)
      try trim(db)
    }
    guard let model, answer.text != nil else { return }
    try Cached(
      text: question.text, source: question.source, target: question.target, model: model,
      translation: answer
    ).insert(db, onConflict: .replace)
    try db.execute(
      sql: "DELETE FROM cache WHERE number <= (SELECT max(number) FROM cache) - ?",
      arguments: [Self.mostCached])
  }

  /// Puts every question that ended here without a translation in line again. Those of other devices
  /// are theirs to ask again.
  ///
  /// - Parameter id: of the only question that is meant, which is asked at once.
  /// - Throws: ``Refusal`` where that one is another device's.
  func retry(only id: String? = nil) async throws {
    try await pool.write { db in
      let meant = "isOver AND phrase = coalesce(?, phrase)"
      try replica.writeWithoutUndo(in: db) { db in
        try db.execute(
          sql: "DELETE FROM answer WHERE phrase IN (SELECT phrase FROM asked WHERE \(meant))",
          arguments: [id])
      }
      try db.execute(sql: "UPDATE asked SET isOver = FALSE WHERE \(meant)", arguments: [id])
      guard let id else { return try enqueueNext(in: db) }
      if try waiting(id, in: db) != nil {
        if try firstJob(in: db)?.state != .running { try askNow(in: db) }
      } else if let entry = try Entry.find(id, in: db), entry.translation == nil {
        throw Refusal(Word.othersQuestion.text)
      }
    }
  }

  /// Sees to it that the first question that waits has a job; the one before's may not have ended yet.
  func enqueueNext(in db: Database) throws {
    // Another program may wait for what was just kept.
    try jobs.announce(in: db)
    guard let phrase = try asked(1, in: db).first else { return }
    try jobs.enqueue(
      AnswerJob(phrase: phrase), unique: .skip(phrase), service: Settings(in: db)[.service],
      in: db)
  }

  /// The questions that wait here, in order.
  func asked(_ count: Int, in db: Database) throws -> [String] {
    try String.fetchAll(
      db, sql: "SELECT id \(Self.isWaiting) ORDER BY place LIMIT ?", arguments: [count])
  }

  func firstJob(in db: Database) throws -> JobRecord? {
    try asked(1, in: db).first.flatMap { try jobs.unfinished(AnswerJob.self, uniqueBy: $0, in: db) }
      .flatMap { try jobs.record($0, in: db) }
  }

  /// Asks at once, also where that was to be later, or of another service.
  func askNow(in db: Database) throws {
    if let job = try firstJob(in: db) { try jobs.cancel(job.id, in: db) }
    try enqueueNext(in: db)
  }

  /// What the model said of the same text and languages.
  func cached(_ question: Question, model: String, in db: Database) throws -> Answer? {
    let (text, source, target) = (question.text, question.source, question.target)
    let key = ["text": text, "source": source, "target": target, "model": model]
    return try Cached.fetchOne(db, key: key)?.translation
  }

  private func insert(_ answer: Answer, for id: String, in db: Database) throws {
    var answer = answer
    answer.phrase = id
    try answer.save(db)
  }

  /// What waits for an answer, here or on another device, is not counted, and stays. So does what is
  /// as young as an hour: whoever asked it may be yet to be told.
  private func trim(_ db: Database) throws {
    let old = try String.fetchAll(
      db,
      sql: """
        SELECT id FROM (
          SELECT id, askedAt FROM phrase WHERE id IN (SELECT phrase FROM answer)
          ORDER BY askedAt DESC, id DESC LIMIT -1 OFFSET \(Self.mostPhrases))
        WHERE askedAt < (unixepoch() - 3600) * 1000000
        """)
    try db.execute(
      sql:
        "DELETE FROM asked WHERE place < (SELECT max(place) FROM asked) - 1000 AND phrase NOT IN (SELECT id FROM phrase)"
    )
    try Answer.deleteAll(db, keys: old)
    try Question.deleteAll(db, keys: old)
  }
}
