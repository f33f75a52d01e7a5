import ArgumentParser
import ExampleService
import Foundation
import GRDB
import InterpreterClient
import InterpreterKit

struct Ask: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Translate a text, or what comes in, line by line.")

  @OptionGroup var file: DataFile
  @Option(help: "The language of the text, or auto.") var from: String?
  @Option(help: "The language to translate into.") var to: String?
  @Argument(help: "The text; without one, lines are read from standard input.") var text: String?
  @Option(help: "A conversation that this belongs to, by its id.") var conversation: String?
  @Flag(help: "One JSON document a line.") var json = false
  @Flag(help: "Where the service can't be reached, use what is installed here.")
  var offline = false
  @Flag(help: "Keep the questions, and do not wait for answers.") var later = false

  func run() async throws {
    try refuseCommand()
    // A pipe is one action, to be undone as a whole; in a conversation each turn is one.
    if conversation != nil, text == nil { throw Refusal("--conversation goes with a text") }
    try await file.use { database, settings in
      let question = Question(
        conversation: conversation ?? UUID().uuidString.lowercased(),
        source: from ?? settings[.from], target: to ?? settings[.to], text: text ?? "")
      let usesOffline = offline || settings[.offline] == "on"
      @Sendable func ask(_ translator: Translator) async throws {
        let answers = Answers(translator, json: json, isSingle: text != nil)
        let leftOut = try await read(question) { questions, mayWait in
          try await answers.ask(questions)
          if mayWait, !later { try await answers.work(offline: usesOffline) }
        }
        if !later { try await answers.work(offline: usesOffline) }
        try await answers.end()
        if leftOut > 0 { throw ExitCode(Ending.usage.rawValue) }
      }
      if later { return try await ask(Translator(database: database)) }
      try await Translator.using(database, settings, ask)
    }
  }

  /// A command's name behind an option is parsed as a text, which is hardly what was meant; and so is
  /// one with a slip of the fingers in it, unless a language is named.
  private func refuseCommand() throws {
    guard let text, CommandLine.arguments.dropFirst().first != "ask" else { return }
    let commands = TranslateCommand.configuration.subcommands.map { $0._commandName }
    let isShort = (4...12).contains(text.count) && from == nil && to == nil
    let near = commands.first { command in
      command == text || (isShort && text.difference(from: command).count <= 2)
    }
    if let near { throw Refusal(Word.nearCommand.text(text, near, near, text)) }
  }

  /// Hands on the text, or lines of standard input as they come: some at a time, and whether more has
  /// to be waited for.
  ///
  /// - Returns: how many lines were left out, which is said.
  /// - Throws: ``Refusal`` for a text that can't be asked, or where there is none.
  private func read(
    _ question: Question, _ body: ([Question], Bool) async throws -> Void
  ) async throws -> Int {
    guard text == nil else {
      try question.check()
      try await body([question], false)
      return 0
    }
    var (input, number, asked, leftOut) = (StandardInput(), 0, 0, 0)
    while let lines = try await input.next() {
      var questions: [Question] = []
      for line in lines {
        number += 1
        do {
          if let question = try Self.question(line, as: question) { questions.append(question) }
        } catch let refusal as Refusal {
          hint(Word.leftOut.text(number, refusal))
          leftOut += 1
        }
      }
      if !questions.isEmpty { try await body(questions, !input.isReady) }
      asked += questions.count
    }
    guard asked + leftOut > 0 else { throw Refusal(Word.emptyText.text) }
    return leftOut
  }

  /// - Returns: `nil` for an empty line.
  private static func question(_ line: Data, as question: Question) throws -> Question? {
    guard let text = String(validating: line, as: UTF8.self) else {
      throw Refusal(Word.notUTF8.text)
    }
    var question = question
    question.id = UUID().uuidString.lowercased()
    question.text = text.last == "\r" ? String(text.dropLast()) : text
    if question.text.allSatisfy(\.isWhitespace) { return nil }
    try question.check()
    return question
  }
}

/// Says the answers to a command's questions, in the order of the questions.
private actor Answers {
  private let translator: Translator
  private let json: Bool
  /// Whether it is about one text, of which more is said than of a line.
  private let isSingle: Bool
  private var left: ArraySlice<String> = []
  private var failed = 0
  private var triedOffline: Set<String> = []
  private var database: TranslateDatabase { translator.database }

  init(_ translator: Translator, json: Bool, isSingle: Bool) {
    (self.translator, self.json, self.isSingle) = (translator, json, isSingle)
  }

  func ask(_ questions: [Question]) async throws {
    try await database.ask(questions)
    left += questions.map(\.id)
  }

  /// Works until nothing can be done any more, and says answers as they come.
  ///
  /// - Parameter offline: whether what waits is answered with what is installed here.
  func work(offline: Bool) async throws {
    let telling = Task { try await tell() }
    defer { telling.cancel() }
    try await translator.drain(offline ? 0 : 300, for: Array(left))
    if offline {
      try await database.answerOffline(left.filter { triedOffline.insert($0).inserted })
    }
    try await sayAnswers()
  }

  /// Says answers as they come, and for what is waited, each time that it is something else.
  private func tell() async throws {
    let standings = ValueObservation.tracking { [database] in try Standing(database, in: $0) }
    var last = Standing.State.asking
    for try await standing in standings.values(in: database.pool) {
      try await sayAnswers()
      // That the service can't be reached is said at the end.
      let isNew = standing.state != last && [.limited, .retrying].contains(standing.state)
      if isNew { hint(standing.text) }
      last = standing.state
    }
  }

  private func sayAnswers() async throws {
    while let id = left.first {
      let entry = try await database.pool.read { try Entry.find(id, in: $0) }
      // The other call may have said it meanwhile.
      guard id == left.first else { continue }
      if entry?.state == "waiting" { return }
      left.removeFirst()
      try say(entry)
    }
  }

  /// - Throws: how the command ends, once that is said, where not all is answered.
  func end() async throws {
    if left.isEmpty {
      if failed > 0 { throw ExitCode(Ending.failed.rawValue) }
      return
    }
    let (entries, standing) = try await database.pool.read { [database, left] db in
      let entries = json ? try left.compactMap { try Entry.find($0, in: db) } : []
      return (entries, try Standing(database, in: db))
    }
    for entry in entries { try sayJSON(entry) }
    if standing.state != .asking { hint(standing.text) }
    hint(Word.saved.text(left.count))
    throw ExitCode(Ending.later.rawValue)
  }

  private func say(_ entry: Entry?) throws {
    if entry?.translation == nil { failed += 1 }
    // Taken back meanwhile. An empty line keeps the others in their places.
    guard let entry else { return json ? () : ExampleService.say("") }
    if json { return try sayJSON(entry) }
    ExampleService.say((entry.translation ?? "").shown(keepsLines: isSingle))
    if let problem = entry.problem {
      hint("\(entry.text.prefix(60)): \(Problem.text(problem, entry.detail))".shown())
    }
    guard isSingle else { return }
    let others = (entry.alternatives ?? []).joined(separator: " / ")
    let notes = [
      entry.engine.map { Word.madeBy.text($0) },
      entry.isOffline == true ? Word.offlineMark.text : nil,
      entry.confidence.map { Word.sure.text(Int(($0 * 100).rounded())) },
      others.isEmpty ? nil : Word.alsoSaid.text(others),
    ].compactMap { $0 }
    if !notes.isEmpty { hint("(\(notes.joined(separator: ", ")))".shown()) }
  }
}
