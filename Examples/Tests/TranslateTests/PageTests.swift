import ExampleProcesses
import ExampleService
import Foundation
import GRDB
import InterpreterClient
import Tern
import TernJobs
import Testing

@testable import translate

/// What stands behind the page; `script/pages` drives the page itself.
@Suite("Behind the page")
struct PageTests {
  private func withDatabase(_ body: (TranslateDatabase) async throws -> Void) async throws {
    try await withTranslateFolder { folder in
      let database = try await TranslateDatabase.open(folder.database)
      try await body(database)
      try database.pool.close()
    }
  }

  private func question(_ text: String) -> Question {
    Question(conversation: "c", source: "en", target: "es", text: text)
  }

  #if os(Linux)
  @Test(.timeLimit(.minutes(3))) func `its address is opened where there is a screen`() async throws
  {
    try await withTranslateFolder { folder in
      let browser = try FalseBrowser(in: folder.path)
      defer { browser.remove() }
      let serve = [
        try BuiltExecutable.path("translate"), "serve", "--data", folder.database, "--port", "0",
      ]
      let (said, opened) = try await browser.watch(serve, display: ":0", opens: true)
      #expect(said.hasPrefix("http://127.0.0.1:"))
      #expect(opened == said)
      let kept = try await browser.watch(serve + ["--no-open"], display: ":0", opens: false)
      #expect(kept.said.hasPrefix("http://127.0.0.1:"))
      #expect(kept.opened == nil)
    }
  }
  #endif

  @Test func `when a question that waits is removed, the next one's turn comes`() async throws {
    try await withDatabase { database in
      let questions = [question("one"), question("two")]
      let ids = questions.map(\.id)
      try await database.ask(questions)
      func job() async throws -> JobRecord? {
        try await database.pool.read { try database.firstJob(in: $0) }
      }
      let first = try #require(try await job())
      try await database.remove(ids[0])
      let record = try await database.pool.read { try database.jobs.record(first.id, in: $0) }
      #expect(record?.state == .cancelled)
      #expect(try await job().map { $0.uniqueKey } == ids[1])
      // Undone, it waits again, in its place; and what asks it is cancelled when that is undone, too.
      #expect(try await database.undo().map(\.table) == ["phrase"])
      #expect(try await database.pool.read { try database.asked(9, in: $0) } == ids)
      let again = try #require(try await job())
      #expect(again.uniqueKey == ids[0])
      #expect(try await database.undo().map(\.table) == ["phrase", "phrase"])
      let gone = try await database.pool.read { try database.jobs.record(again.id, in: $0) }
      #expect(gone?.state == .cancelled)
    }
  }

  @Test func `a question that is sent again is there once, and so is its turn`() async throws {
    try await withDatabase { database in
      var talk = Conversation(id: "c", near: "en", far: "es", isFarsTurn: true, startedAt: 1)
      let first = question("one")
      try await database.ask([first], talk)
      talk.isFarsTurn = false
      try await database.ask([question("two")], talk)
      talk.isFarsTurn = true
      try await database.ask([first], talk)
      let (texts, turn) = try await database.pool.read { db in
        (
          try Entry.newest(9, db).map(\.text),
          try Conversation.fetchOne(db, key: "c")?.isFarsTurn
        )
      }
      #expect(texts == ["one", "two"] && turn == false)
    }
  }

  @Test func `favorite languages stay in their order, and five are shown`() async throws {
    try await withDatabase { database in
      try await database.pool.write { db in
        for code in ["fr", "de", "ja", "ar", "it"] { try Language.star(code, true, in: db) }
        for code in ["pt", "xx"] {
          #expect(throws: Refusal.self) { try Language.star(code, true, in: db) }
        }
        // As another device has chosen it meanwhile.
        try db.execute(sql: "INSERT INTO setting VALUES ('star.pt', '6')")
        #expect(try Language.starred(in: db) == ["fr", "de", "ja", "ar", "it"])
        try Language.star("de", false, in: db)
        #expect(try Language.starred(in: db) == ["fr", "ja", "ar", "it", "pt"])
        // What a newer version keeps there may be no language.
        try db.execute(sql: "INSERT INTO setting VALUES ('star.xx', '0')")
        #expect(try Language.starred(in: db).first == "fr")
      }
    }
  }

  @Test func `what there is of an answer is told while it comes`() async throws {
    let gate = Gate()
    try await ScriptedService { _, tell in
      try await tell("{\"translation\":\"La casa \\u00")
      try await tell("e9s ")
      await gate.pass()
      try await tell("grande.\"}")
    }.serving { url in
      try await self.withDatabase { database in
        try await database.choose(.service, url.absoluteString)
        try await database.ask([self.question("The house is big.")])
        let page = TranslatePage(
          database: database, runsInterpreter: false, sync: nil, space: nil)
        async let work: Void = Translator(database: database, key: nil).drain()
        var parts: [String] = []
        let states = ValueObservation.tracking { try PageState(of: page, "c", in: $0) }
        for try await state in states.values(in: database.pool) {
          if let part = state.part { parts.append(part) }
          if parts.last == "La casa és " { await gate.open() }
          if state.entries.first?.state == "done" {
            #expect(state.part == nil && state.waits.isEmpty && state.standing.waiting == 0)
            break
          }
          #expect(state.asking == state.entries.first?.id && state.waits == [state.asking])
        }
        try await work
        #expect(parts.contains("La casa és "))
      }
    }
  }

  @Test func `the version is the newest of the changes`() async throws {
    let changes = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../CHANGELOG.md").standardized
    let newest = try String(contentsOf: changes, encoding: .utf8)
      .firstMatch(of: /\n## [^\n]*?(\d+\.\d+\.\d+)/)
    try await withDatabase { database in
      let page = TranslatePage(database: database, runsInterpreter: false, sync: nil, space: nil)
      let state = try await database.pool.read { try PageState(of: page, nil, in: $0) }
      #expect(newest.map { String($0.output.1) } == state.version)
    }
  }

  @Test(.enabled(if: Speech.isSpoken, "espeak-ng is not installed"))
  func `a sound is made at a rate`() async throws {
    func bytes(_ text: String, _ rate: Double) async throws -> Int {
      let sound = try await Speech.wave(of: text, in: "es", rate: rate)
      #expect(sound.starts(with: Data("RIFF".utf8)))
      // Not every browser bears a head that says more than there is.
      for (place, before) in [(4, 8), (40, 44)] {
        let said = sound[place..<place + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
        #expect(said == sound.count - before)
      }
      return sound.count
    }
    let usual = try await bytes("-La casa es grande.", 1)
    #expect(try await bytes("-La casa es grande.", 2) < usual)
    await #expect(throws: ToolError.self) {
      try await Speech.wave(of: "a", in: "no such", rate: 1)
    }
    #expect(try await !Speech.pronunciation(of: "-casa", in: "es").isEmpty)
  }

  @Test func `languages are named for the reader, with region and flag`() throws {
    let french = LanguageName.all(in: "fr")
    let spanish = try #require(french.first { $0.code == "es" })
    #expect((spanish.name, spanish.native, spanish.region) == ("espagnol", "español", "Europe"))
    #expect(spanish.flag == "\u{1F1EA}\u{1F1F8}")
    let esperanto = try #require(french.first { $0.code == "eo" })
    #expect(esperanto.region.isEmpty && esperanto.flag.isEmpty)
  }
}
