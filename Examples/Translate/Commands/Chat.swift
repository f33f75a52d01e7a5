import ArgumentParser
import ExampleService
import Foundation
import GRDB
import Tern

struct Chat: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(commandName: "chat", abstract: Word.chatAbstract.text)
  }

  @OptionGroup var file: DataFile
  @OptionGroup var sides: Sides
  @OptionGroup var endpoint: Endpoint
  @Option(help: ArgumentHelp(Word.chatHelp.text)) var resume: String?
  @Flag(help: ArgumentHelp(Word.noSwapHelp.text)) var noSwap = false
  @Flag(help: ArgumentHelp(Word.speakHelp.text)) var speak = false
  @Flag(help: ArgumentHelp(Word.jsonHelp.text)) var json = false

  struct Conversation: Codable, FetchableRecord, PersistableRecord, Sendable {
    var id, near, far: String
    var isFarsTurn = false
    /// Microseconds since 1970.
    var startedAt: Int64

    var line: String { "\(id.shown())\t\(near.shown()) ⇄ \(far.shown())" }
  }

  /// The first line of `--json`.
  private struct Begun: Encodable {
    var conversation, near, far: String

    init(_ talk: Conversation) { (conversation, near, far) = (talk.id, talk.near, talk.far) }
  }

  func run() async throws {
    Interruption.trap()
    try await file.use { database, settings in
      try endpoint.check()
      let talk = try await conversation(database, settings)
      let service = endpoint.service ?? settings[.service]
      try await OwnInterpreter.serving(service) { own in
        let watch = Watch(
          database: database, key: DataFile.key, service: service, own: own,
          usesOffline: settings[.offline] == "on")
        try await follow(talk, watch, database, settings)
      }
    }
  }

  private func follow(
    _ begun: Conversation, _ watch: Watch, _ database: TranslateDatabase, _ settings: Settings
  ) async throws {
    var talk = begun
    // A page's conversation can begin in a language that is to be found.
    let swaps = !noSwap && settings[.swap] == "on" && talk.near != "auto"
    if json { try sayJSON(Begun(talk)) } else { say(talk.line) }
    var (input, number, isWhole, failed) = (StandardInput(), 0, true, 0)
    var saved: [String] = []
    while let bytes = await input.next() {
      number += 1
      guard let line = Ask.line(bytes, number) else {
        isWhole = false
        continue
      }
      if line.allSatisfy(\.isWhitespace) {
        complain(Word.emptyText.text)
        continue
      }
      let (from, to) = talk.isFarsTurn ? (talk.far, talk.near) : (talk.near, talk.far)
      if swaps { talk.isFarsTurn.toggle() }
      // One action: what was said, and whose turn it is now.
      let after = talk
      let question = Question(
        text: line, source: from, target: to, conversation: talk.id, service: endpoint.service,
        model: endpoint.model)
      let ids = try await database.ask([question]) { try after.save($0) }
      let teller = Teller(isSingle: true, json: json)
      let end = try await watch.follow(Asked(all: ids), teller)
      teller.end()
      switch end {
      case .answered:
        failed += teller.failed
        if speak || settings[.speak] == "on" { try await voice(ids[0], to, database) }
      case .offline, .paused:
        if json { try await database.tell(ids) }
        var word = Word.saved
        if case .paused = end { word = .kept }
        complain(word.text(1))
        saved += ids
      case .stopped: throw ExitCode.stopped
      }
    }
    if Interruption.isAsked { throw ExitCode.stopped }
    // What was saved may have been answered beside what was said later.
    let late = try await database.pool.read { [saved] db in
      try saved.map { try Entry.find($0, in: db)?.state }
    }
    if late.contains("waiting") { throw ExitCode.later }
    if failed > 0 || late.contains("failed") { throw ExitCode.unanswered }
    if !isWhole { throw ExitCode.usage }
  }

  /// A new one, or one that any of the person's devices began.
  private func conversation(
    _ database: TranslateDatabase, _ settings: Settings
  ) async throws -> Conversation {
    guard let resume else {
      let (from, to) = try sides.resolved(settings)
      guard from != "auto" else { throw Refusal(Word.unknownCode.text(from)) }
      return Conversation(
        id: UUID().uuidString.lowercased(), near: from, far: to,
        startedAt: Int64(Date().timeIntervalSince1970 * 1_000_000))
    }
    let found = try await database.pool.read { db in
      try Conversation.fetchOne(
        db,
        sql: """
          SELECT * FROM conversation WHERE id = ?1 OR ?1 = 'last' ORDER BY startedAt DESC LIMIT 1
          """, arguments: [resume])
    }
    guard let found else { throw Refusal(Word.noChat.text(resume)) }
    return found
  }

  /// Where espeak-ng is not installed, nothing is heard.
  private func voice(_ id: String, _ language: String, _ database: TranslateDatabase) async throws {
    guard let text = try await database.pool.read({ try Entry.find(id, in: $0) })?.translation
    else { return }
    await Speaker().speak(text, in: language)
  }
}
