import ArgumentParser
import ExampleService
import Foundation
import GRDB
import Tern

struct Ask: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(commandName: "ask", abstract: Word.askAbstract.text)
  }

  @OptionGroup var file: DataFile
  @OptionGroup var sides: Sides
  @OptionGroup var endpoint: Endpoint
  @Argument(help: ArgumentHelp(Word.textHelp.text)) var text: String?
  @Flag(help: ArgumentHelp(Word.jsonHelp.text)) var json = false
  @Flag(help: ArgumentHelp(Word.offlineHelp.text)) var offline = false
  @Flag(help: ArgumentHelp(Word.laterHelp.text)) var later = false
  @Flag(help: ArgumentHelp(Word.progressHelp.text)) var progress = false

  /// In characters.
  static let longest = 10_000

  func run() async throws {
    Interruption.trap()
    try await file.use { database, settings in
      try refuseCommand()
      let (from, to) = try sides.resolved(settings)
      try endpoint.check()
      let conversation = UUID().uuidString.lowercased()
      let asked = Asked()
      @Sendable func ask(_ texts: [String]) async throws {
        let questions = texts.map {
          Question(
            text: $0, source: from, target: to, conversation: conversation,
            service: endpoint.service, model: endpoint.model)
        }
        let ids = try await database.ask(questions)
        asked.add(ids)
        if later, json { try await database.tell(ids) }
      }
      if later {
        _ = try await asking(ask)
        complain(Word.kept.text(asked.count))
        throw ExitCode.later
      }
      let service = endpoint.service ?? settings[.service]
      let usesOffline = offline || settings[.offline] == "on"
      try await OwnInterpreter.serving(service) { own in
        let watch = Watch(
          database: database, key: DataFile.key, service: service, own: own,
          usesOffline: usesOffline)
        try await database.holding(conversation) {
          try await answer(asked, watch, database) {
            defer { asked.end() }
            return try await asking(ask)
          }
        }
      }
    }
  }

  /// A command's name behind an option is parsed as a text, which is hardly what was meant.
  private func refuseCommand() throws {
    guard let text, CommandLine.arguments.dropFirst().first != Self.configuration.commandName
    else { return }
    let commands = TranslateCommand.configuration.subcommands.compactMap {
      $0.configuration.commandName
    }
    if commands.contains(text) { throw Refusal(Word.commandText.text(text, text, text)) }
    // Who names a language means a text; and short words are near too many others.
    guard sides.from == nil, sides.to == nil, text.count >= 4,
      let command = commands.first(where: { text.isNearly($0) })
    else { return }
    throw Refusal(Word.nearCommand.text(text, command, command, text))
  }

  /// - Returns: whether none of what came in was left out.
  private func asking(_ ask: ([String]) async throws -> Void) async throws -> Bool {
    guard let text else {
      let (count, isWhole) = try await eachBatch(ask)
      guard count > 0 || Interruption.isAsked else { throw Refusal(Word.emptyText.text) }
      return isWhole
    }
    guard !text.allSatisfy(\.isWhitespace) else { throw Refusal(Word.emptyText.text) }
    guard text.count <= Self.longest else {
      throw Refusal(Word.longText.text(text.count, Self.longest))
    }
    try await ask([text])
    return true
  }

  /// Lines of standard input, some at a time, so that no more are in memory; what was read is handed on
  /// before more is waited for. Empty ones are passed by.
  ///
  /// - Returns: how many there were, and whether none was left out.
  private func eachBatch(
    _ body: ([String]) async throws -> Void
  ) async throws -> (count: Int, isWhole: Bool) {
    var (batch, count, number, isWhole) = ([String](), 0, 0, true)
    var input = StandardInput()
    while let bytes = await input.next() {
      number += 1
      if let line = Self.line(bytes, number) { batch.append(line) } else { isWhole = false }
      if batch.last?.allSatisfy(\.isWhitespace) ?? false { batch.removeLast() }
      guard batch.count == 100 || (input.isDrained && !batch.isEmpty) else { continue }
      try await body(batch)
      count += batch.count
      batch = []
    }
    return (count, isWhole)
  }

  /// - Returns: `nil`, and says why, for what can't be a question.
  static func line(_ bytes: [UInt8], _ number: Int) -> String? {
    guard !bytes.contains(0) else {
      // SQLite would end the text there.
      complain(Word.zeroLine.text(number))
      return nil
    }
    guard let line = String(validating: bytes, as: UTF8.self) else {
      complain(Word.badLine.text(number))
      return nil
    }
    guard line.count <= longest else {
      complain(Word.longLine.text(number, longest))
      return nil
    }
    return line
  }

  private enum Part: Sendable {
    case read(isWhole: Bool)
    case told(Watch.End)
  }

  /// Tells the answers while questions still come in.
  private func answer(
    _ asked: Asked, _ watch: Watch, _ database: TranslateDatabase,
    reading: @escaping @Sendable () async throws -> Bool
  ) async throws {
    let isPiped = text == nil && isatty(STDIN_FILENO) == 0
    let teller = Teller(
      isSingle: text != nil, json: json,
      showsProgress: progress || (isPiped && isatty(STDERR_FILENO) == 1))
    var (isWhole, end) = (true, Watch.End.stopped)
    defer { teller.end() }
    try await withThrowingTaskGroup(of: Part.self) { tasks in
      tasks.addTask { .read(isWhole: try await reading()) }
      tasks.addTask { .told(try await watch.follow(asked, teller)) }
      // The first error ends both; a signal does by itself.
      while let part = try await tasks.next() {
        switch part {
        case .read(let all): isWhole = all
        case .told(let found): end = found
        }
      }
    }
    teller.end()
    let left = asked.count - teller.told
    switch end {
    case .answered:
      if teller.failed > 0 { throw ExitCode.unanswered }
      if !isWhole { throw ExitCode.usage }
    case .stopped:
      complain(Word.stopped.text(left))
      throw ExitCode.stopped
    case .offline(let ids), .paused(let ids):
      if json { try await database.tell(ids) }
      var word = Word.saved
      if case .paused = end { word = .kept }
      complain(word.text(left))
      try await offer(teller.next, database)
      throw ExitCode.later
    }
  }

  /// What is there without a network.
  private func offer(_ id: String?, _ database: TranslateDatabase) async throws {
    guard let id, let entry = try await database.pool.read({ try Entry.find(id, in: $0) })
    else { return }
    if Offline.has(from: entry.from, to: entry.to) { complain(Word.offerOffline.text) }
    let near = try await database.pool.read { try History.search(entry.text, in: $0, limit: 3) }
    for other in near where other.translation != nil {
      complain(Word.offerHistory.text(other.line))
    }
  }
}
