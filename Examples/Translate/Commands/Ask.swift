#if Server
import ArgumentParser
import ExampleService
import Foundation
import GRDB
import Tern

struct Sides: ParsableArguments {
  @Option(help: ArgumentHelp(Word.fromHelp.text)) var from: String?
  @Option(help: ArgumentHelp(Word.toHelp.text)) var to: String?

  func resolved(_ settings: Settings) throws -> (from: String, to: String) {
    let (from, to) = (from ?? settings[.from], to ?? settings[.to])
    for code in [from, to] where code != "auto" && !Language.isKnown(code) {
      throw Refusal(Word.unknownCode.text(code))
    }
    guard to != "auto" else { throw Refusal(Word.unknownCode.text(to)) }
    guard from != to else { throw Refusal(Word.sameLanguage.text(to)) }
    return (from, to)
  }
}

struct Ask: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(commandName: "ask", abstract: Word.askAbstract.text)
  }

  @OptionGroup var file: DataFile
  @OptionGroup var sides: Sides
  @Argument(help: ArgumentHelp(Word.textHelp.text)) var text: String?
  @Flag(help: ArgumentHelp(Word.jsonHelp.text)) var json = false
  @Flag(help: ArgumentHelp(Word.offlineHelp.text)) var offline = false
  @Flag(help: ArgumentHelp(Word.laterHelp.text)) var later = false
  @Flag(help: ArgumentHelp(Word.progressHelp.text)) var progress = false

  /// In characters.
  static let longest = 10_000

  func run() async throws {
    try await file.use { database, settings in
      let (from, to) = try sides.resolved(settings)
      let conversation = UUID().uuidString.lowercased()
      var ids: [String] = []
      var isWhole = true
      func ask(_ texts: [String]) async throws {
        let questions = texts.map {
          Question(
            text: $0, source: from, target: to, conversation: conversation,
            model: settings[.model])
        }
        ids += try await database.ask(questions)
      }
      if let text {
        guard !text.allSatisfy(\.isWhitespace) else { throw Refusal(Word.emptyText.text) }
        guard text.count <= Self.longest else {
          throw Refusal(Word.longText.text(text.count, Self.longest))
        }
        try await ask([text])
      } else {
        isWhole = try await eachBatch { try await ask($0) }
        guard !ids.isEmpty else { throw Refusal(Word.emptyText.text) }
      }
      if later {
        complain(Word.saved.text(ids.count))
        throw ExitCode.later
      }
      try await answer(ids, database, usesOffline: offline || settings[.offline] == "on")
      if !isWhole { throw ExitCode.usage }
    }
  }

  /// Lines of standard input, some at a time, so that no more are in memory. Empty ones are passed by.
  ///
  /// - Returns: whether none was left out.
  private func eachBatch(_ body: ([String]) async throws -> Void) async throws -> Bool {
    var (batch, isWhole) = ([String](), true)
    for (number, bytes) in StandardInput().enumerated() {
      guard let line = String(validating: bytes, as: UTF8.self) else {
        complain(Word.badLine.text(number + 1))
        isWhole = false
        continue
      }
      guard line.count <= Self.longest else {
        complain(Word.longLine.text(number + 1, Self.longest))
        isWhole = false
        continue
      }
      if line.allSatisfy(\.isWhitespace) { continue }
      batch.append(line)
      if batch.count == 100 {
        try await body(batch)
        batch = []
      }
    }
    if !batch.isEmpty { try await body(batch) }
    return isWhole
  }

  private func answer(
    _ ids: [String], _ database: TranslateDatabase, usesOffline: Bool
  ) async throws {
    let watch = Watch(database: database, key: DataFile.key)
    let teller = Teller(
      count: ids.count, json: json, showsProgress: progress || (ids.count > 1 && isatty(2) == 1))
    let end = try await watch.follow(ids, usesOffline: usesOffline) { try teller.tell($0, $1) }
    teller.endProgress()
    switch end {
    case .answered: if teller.failed > 0 { throw ExitCode.unanswered }
    case .stopped:
      complain(Word.stopped.text(ids.count - teller.told))
      throw ExitCode.stopped
    case .offline(let reason):
      complain("\(Word.unreachable.text): \(reason)")
      complain(Word.saved.text(ids.count - teller.told))
      try await offer(ids.dropFirst(teller.told).first, database)
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
#endif
