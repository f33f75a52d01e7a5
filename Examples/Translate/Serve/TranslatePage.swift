import ArgumentParser
import CTranslatePages
import ExamplePages
import ExampleService
import ExampleWork
import Foundation
import GRDB
import InterpreterClient
import InterpreterKit
import Tern
import TernJobs

struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show a page on this machine, and finish what waits meanwhile.")

  @OptionGroup var work: Work
  @OptionGroup var options: PageOptions

  func run() async throws {
    try await work.run { database, runsInterpreter, status in
      let page = TranslatePage(
        database: database, runsInterpreter: runsInterpreter, sync: status, space: work.remote.place
      )
      try await options.serve(.translate, page, beside: work.file.data, usual: 8092)
    }
  }
}

extension PageFiles {
  /// The page of `translate serve`, with the kit that all pages have.
  fileprivate static let translate = PageFiles(embedded: file)

  static func file(_ index: Int) -> Embedded? {
    translate_page_file(index).map {
      ($0.pointee.name, $0.pointee.type, $0.pointee.bytes, $0.pointee.count)
    }
  }
}

/// What stands behind the page of `translate serve`.
struct TranslatePage: PageProgram {
  let database: TranslateDatabase
  /// Whether the interpreter runs in this process, for questions to nobody else.
  let runsInterpreter: Bool
  /// Where a server was named, how the sync with it stands, and which space of which server it is.
  let sync: SyncStatus?
  let space: String?

  func answer(_ request: PageRequest) async -> PageAnswer {
    await .of { try await request.isChange ? change(request) : read(request) }
  }

  /// A recording of a minute.
  func uploadBytes(_ path: String) -> Int? { path == "hear" ? 2 * 16_000 * 60 : nil }

  func watch(_ tell: @escaping @Sendable (PageNews) -> Void) async {
    await PageNews.follow(database.pool, database.jobs, sync: sync, tell)
  }

  private func read(_ request: PageRequest) async throws -> PageAnswer {
    let (query, pool) = (request.query, database.pool)
    switch request.path {
    case "state":
      return try PageAnswer(try await pool.read { try PageState(of: self, query["talk"], in: $0) })
    case "history":
      let words = query["search"] ?? ""
      return try PageAnswer(try await pool.read { try Entry.search(words, in: $0) })
    case "languages": return try PageAnswer(LanguageName.all(in: query["in"] ?? "en"))
    case "pronunciation", "speech":
      guard let text = query["text"], let language = query["in"], LanguageName.isKnown(language)
      else { return .unknown }
      if request.path == "pronunciation" {
        return try PageAnswer(["text": await Speech.pronunciation(of: text, in: language)])
      }
      let rate = query["rate"].flatMap { Setting.rate.accepts($0) ? Double($0) : nil } ?? 1
      return PageAnswer(
        try await Speech.wave(of: text, in: language, rate: rate), type: "audio/wav")
    default: return .unknown
    }
  }

  /// What a change is about; each needs some of it.
  private struct Wanted: Decodable {
    /// Of a question. A page draws that of a new one, so that it can send a question again of which
    /// it heard nothing.
    var id: UUID?
    var text, from, to: String?
    /// Whose turn it is after the question.
    var talk: Conversation?
    var name, value, model: String?

    func need<T>(_ member: T?) throws -> T {
      if let member { return member }
      throw DecodingError.valueNotFound(T.self, .init(codingPath: [], debugDescription: ""))
    }

    /// As the database has it.
    var question: String { get throws { try need(id).uuidString.lowercased() } }
  }

  private func change(_ request: PageRequest) async throws -> PageAnswer {
    if let file = request.file { return try PageAnswer(["text": await Speech.words(in: file)]) }
    let wanted = try JSONDecoder().decode(Wanted.self, from: request.body)
    switch request.path {
    case "ask":
      let talk = try wanted.need(wanted.talk)
      let question = Question(
        id: try wanted.question, conversation: talk.id, source: try wanted.need(wanted.from),
        target: try wanted.need(wanted.to), text: try wanted.need(wanted.text))
      try question.check()
      let isOfTalk = Set([talk.near, talk.far]) == [question.source, question.target]
      try await database.ask([question], wanted.need(isOfTalk ? talk : nil))
    case "remove": try await database.remove(wanted.question)
    case "clear": try await database.clearHistory()
    case "forget": try await database.pool.write { try $0.execute(sql: "DELETE FROM cache") }
    case "undo": return try PageAnswer(["rows": try await database.undo().count])
    case "again": try await database.retry(only: wanted.question)
    case "offline": try await database.answerOffline(wanted.question, with: Apertium())
    case "keep":
      let id = try wanted.question
      guard try await database.keep(id) else { throw Refusal(Word.noPhrase.text(id)) }
    case "let-go":
      try await database.letGo(
        wanted.need(wanted.text), from: wanted.need(wanted.from), to: wanted.need(wanted.to))
    case "choose":
      let setting = try Setting.named(wanted.need(wanted.name))
      // Without a value it is what it is unless chosen.
      try await database.choose(
        setting, wanted.value ?? setting.standard, model: wanted.model ?? Setting.model.standard)
      if setting == .language { Words.choose(wanted.value ?? "") }
    case "star":
      let code = try wanted.need(wanted.name)
      try await database.replica.write { try Language.star(code, wanted.value == "on", in: $0) }
    default: return .unknown
    }
    return try PageAnswer(["done": true])
  }
}
