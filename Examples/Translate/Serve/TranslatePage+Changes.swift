import ExamplePages
import ExampleService
import Foundation
import GRDB
import InterpreterKit
import Tern

extension TranslatePage {
  /// About one question, by its id.
  private struct About: Decodable {
    let id: String
  }

  private struct Asking: Decodable {
    /// Drawn by the page, so that it can send a question again of which it heard nothing. A page
    /// that was opened before there were ids sends none.
    let id: UUID?
    let text, from, to: String
    let talk: String?
    /// Whether the other side's turn comes then.
    let turns: Bool
  }

  private struct Asked: Encodable {
    let id, talk, from, to: String

    /// With the languages of the next question.
    init(_ id: String, in talk: Chat.Conversation) {
      (self.id, self.talk) = (id, talk.id)
      (from, to) = talk.isFarsTurn ? (talk.far, talk.near) : (talk.near, talk.far)
    }
  }

  private struct Kept: Decodable {
    let source, target, text: String
  }

  private struct Choice: Decodable {
    let name, value: String
    /// With a service.
    let model: String?
  }

  private struct Recording: Decodable {
    let id: Int
  }

  private struct Heard: Decodable {
    let id: Int
    let samples: Data
  }

  func change(_ request: PageRequest) async throws -> PageAnswer {
    func body<T: Decodable>(_ type: T.Type) throws -> T {
      try JSONDecoder().decode(type, from: request.body)
    }
    switch request.path {
    case "ask": return try PageAnswer(try await ask(try body(Asking.self)))
    case "remove": try await database.remove(try body(About.self).id)
    case "clear": try await database.clearHistory()
    case "forget": try await database.forgetTranslations()
    case "undo":
      let rows = try await database.undo()
      return try PageAnswer(["rows": rows.count])
    case "again": try await again(try body(About.self).id)
    case "offline":
      let id = try body(About.self).id
      if let refusal = try await database.answerOffline(id, with: Apertium()) {
        throw Refusal(refusal)
      }
    case "keep":
      let id = try body(About.self).id
      guard try await database.keep(id) else { throw Refusal(Word.noPhrase.text(id)) }
    case "let-go":
      let kept = try body(Kept.self)
      try await database.letGo(kept.text, from: kept.source, to: kept.target)
    case "choose": try await choose(try body(Choice.self))
    case "star": try await star(try body(Choice.self))
    case "speak": try await speak(try body(About.self).id)
    case "hush": await speaker.stop()
    case "hear-begin": return try PageAnswer(["id": try await listener.begin()])
    case "hear":
      let heard = try body(Heard.self)
      try await listener.add(heard.samples, to: heard.id)
    case "hear-end":
      return try PageAnswer(["text": try await listener.end(try body(Recording.self).id)])
    case "hear-stop": await listener.stop()
    default: return .unknown
    }
    return try PageAnswer(["done": true])
  }

  private func ask(_ asking: Asking) async throws -> Asked {
    guard !asking.text.allSatisfy(\.isWhitespace) else { throw Refusal(Word.emptyText.text) }
    guard asking.text.count <= Ask.longest else {
      throw Refusal(Word.longText.text(asking.text.count, Ask.longest))
    }
    guard !asking.text.unicodeScalars.contains("\0") else { throw Refusal(Word.zeroText.text) }
    for code in [asking.from, asking.to] where code != "auto" || code == asking.to {
      guard Language.isKnown(code) else { throw Refusal(Word.unknownCode.text(code)) }
    }
    guard asking.from != asking.to else { throw Refusal(Word.sameLanguage.text(asking.to)) }
    let id = (asking.id ?? UUID()).uuidString.lowercased()
    // The page never heard that it was asked.
    if let before = try await asked(id) { return before }
    let known = try await database.pool.read { db in
      try Chat.Conversation.fetchOne(db, key: asking.talk)
    }
    let talk = Self.turned(known, asking)
    let question = Question(
      id: id, text: asking.text, source: asking.from, target: asking.to, conversation: talk.id)
    do {
      // One action: what was said, and whose turn it is now.
      _ = try await database.ask([question]) { try talk.save($0) }
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      // Or it sent it again at once.
      guard let before = try await asked(id) else { throw error }
      return before
    }
    return Asked(id, in: talk)
  }

  /// - Returns: `nil` where there is no such question.
  private func asked(_ id: String) async throws -> Asked? {
    try await database.pool.read { db in
      try Chat.Conversation.fetchOne(
        db,
        sql: """
          SELECT * FROM conversation WHERE id = (SELECT conversation FROM phrase WHERE id = ?)
          """, arguments: [id]
      ).map { Asked(id, in: $0) }
    }
  }

  /// The conversation after a turn.
  private static func turned(_ known: Chat.Conversation?, _ asking: Asking) -> Chat.Conversation {
    var talk =
      known
      ?? Chat.Conversation(
        id: UUID().uuidString.lowercased(), near: asking.from, far: asking.to,
        startedAt: Int64(Date().timeIntervalSince1970 * 1_000_000))
    let isFars = (asking.from, asking.to) == (talk.far, talk.near)
    if !isFars { (talk.near, talk.far) = (asking.from, asking.to) }
    // Nobody can answer in a language that is yet to be found.
    talk.isFarsTurn = asking.turns && talk.near != "auto" ? !isFars : isFars
    return talk
  }

  /// What was refused is asked again; what waits is tried now.
  private func again(_ id: String) async throws {
    let isOwn = try await database.retry(only: id)
    try await database.pool.write { db in
      let service = try String.fetchOne(
        db, sql: "SELECT coalesce(service, ?) FROM waiting WHERE phrase = ?",
        arguments: [try Settings(in: db)[.service], id])
      guard let service else {
        if isOwn { return }
        throw Refusal(Word.othersQuestion.text)
      }
      try database.beginAnew(with: service, in: db)
    }
  }

  private func choose(_ choice: Choice) async throws {
    guard let setting = Setting(rawValue: choice.name) else {
      let all = Setting.allCases.map(\.rawValue).joined(separator: ", ")
      throw Refusal(Word.noSetting.text(choice.name, all))
    }
    guard setting.accepts(choice.value), choice.model.map(Setting.model.accepts) ?? true else {
      throw Refusal(Word.badSetting.text(choice.name, choice.value))
    }
    try await database.choose(setting, choice.value, model: choice.model)
    if setting == .language { Words.choose(choice.value) }
  }

  /// A language among the favorites, or no more.
  private func star(_ choice: Choice) async throws {
    guard Language.isKnown(choice.name) else { throw Refusal(Word.unknownCode.text(choice.name)) }
    let isStarred = choice.value == "on"
    try await database.act { db in
      let stars = try Language.starred(in: db)
      guard !isStarred || stars.count < Language.mostStarred else {
        throw Refusal(Word.manyStars.text(Language.mostStarred))
      }
      try Language.star(choice.name, isStarred, in: db)
    }
  }

  private func speak(_ id: String) async throws {
    let (text, language, rate) = try await spoken(id)
    guard await speaker.speak(text, in: language, rate: rate) else {
      throw Refusal(Word.speakerFails.text)
    }
  }

  /// What `espeak-ng` is to say of a question, in which language and how fast.
  func spoken(_ id: String) async throws -> (text: String, language: String, rate: Double) {
    let (entry, rate) = try await database.pool.read { db in
      (try Entry.find(id, in: db), Double(try Settings(in: db)[.rate]) ?? 1)
    }
    guard let entry, let text = entry.translation else { throw Refusal(Word.noPhrase.text(id)) }
    guard Speaker.isInstalled else { throw Refusal(Word.noSpeaker.text) }
    return (text, entry.to, rate)
  }
}
