import Foundation
import GRDB
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
    Question(text: text, source: "en", target: "es", conversation: "c")
  }

  @Test func `when a question that waits is removed, the next one's turn comes`() async throws {
    try await withDatabase { database in
      let ids = try await database.ask([question("one"), question("two")])
      func jobs() async throws -> [String: Int64] {
        try await database.pool.read { db in
          let rows = try Row.fetchAll(
            db, sql: "SELECT phrase, job FROM waiting WHERE job IS NOT NULL")
          return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) })
        }
      }
      let before = try await jobs()
      let first = try #require(before[ids[0]])
      #expect(before.count == 1)
      try await database.remove(ids[0])
      let record = try await database.pool.read {
        try database.jobs.record(JobID(rawValue: first), in: $0)
      }
      #expect(record?.state == .cancelled)
      #expect(try await jobs().keys.sorted() == [ids[1]])
      // Undone, it waits again, behind the other one.
      #expect(try await database.undo().map(\.table) == ["phrase"])
      let waiting = try await database.pool.read {
        try String.fetchAll($0, sql: "SELECT phrase FROM waiting ORDER BY place")
      }
      #expect(waiting == [ids[1], ids[0]])
    }
  }

  @Test func `favorite languages stay in their order, and five are shown`() async throws {
    try await withDatabase { database in
      try await database.pool.write { db in
        for code in ["fr", "de", "ja", "ar", "it", "pt"] { try Language.star(code, true, in: db) }
        #expect(try Language.starred(in: db) == ["fr", "de", "ja", "ar", "it"])
        try Language.star("de", false, in: db)
        #expect(try Language.starred(in: db) == ["fr", "ja", "ar", "it", "pt"])
        // What a newer version keeps there may be no language.
        try db.execute(sql: "INSERT INTO setting VALUES ('star.xx', '0')")
        #expect(try Language.starred(in: db).first == "fr")
      }
    }
  }

  @Test func `what there is of an answer is told, and forgotten with its question`() async throws {
    let coming = ComingAnswers()
    let news = coming.news()
    coming.add("un", to: "a")
    coming.add("dos", to: "b")
    coming.add("uno", to: "a")
    for await _ in news { break }
    #expect(coming.texts(of: ["a", "b"]) == ["a": "uno", "b": "dos"])
    #expect(coming.texts(of: ["b"]) == ["b": "dos"])
    #expect(coming.texts(of: ["a", "b"]) == ["b": "dos"])
  }

  @Test func `an answer is expected after as long as the last ones of its service took`()
    async throws
  {
    try await ScriptedService.withFolder { text, tell in
      try await tell(#"{"translation":"<\#(text)>"}"#)
    } body: { folder in
      func expected() async throws -> ExpectedAnswer? {
        let database = try await TranslateDatabase.open(folder.database)
        defer { try? database.pool.close() }
        let id = try await database.ask([
          Question(text: "held", source: "en", target: "es", conversation: "c")
        ])[0]
        let answer = try await database.pool.write { db in
          let job = try Int64.fetchOne(
            db, sql: "SELECT job FROM waiting WHERE phrase = ?", arguments: [id])
          let record = try database.jobs.record(JobID(rawValue: try #require(job)), in: db)
          return try ExpectedAnswer(of: try #require(record), in: db)
        }
        try await database.remove(id)
        return answer
      }
      for text in ["one", "two"] { #expect(try await folder(text, "--to", "es").status == 0) }
      #expect(try await expected() == nil)
      for text in ["three", "four"] { #expect(try await folder(text, "--to", "es").status == 0) }
      let database = try await TranslateDatabase.open(folder.database)
      try await database.pool.write { db in
        // The one that took an hour, because the program was not there, tells nothing. A program
        // that ends at once may have stopped one, which the next one began again.
        try db.execute(
          sql: """
            UPDATE grdb_tern_jobhistory SET starts = 1, enqueued_ms =
              since_ms - iif(id = (SELECT min(id) FROM grdb_tern_jobhistory), 3600000, 5000)
            """)
      }
      try database.pool.close()
      let answer = try #require(try await expected())
      #expect(answer.until - answer.since == 5000)
    }
  }

  @Test func `the version is the newest of the changes`() throws {
    let changes = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../CHANGELOG.md").standardized
    let newest = try String(contentsOf: changes, encoding: .utf8)
      .firstMatch(of: /\n## [^\n]*?(\d+\.\d+\.\d+)/)
    #expect(newest.map { String($0.output.1) } == ProgramVersion.current)
  }

  @Test(.enabled(if: Speaker.isInstalled, "espeak-ng is not installed"))
  func `a sound is made at a rate, up to a length`() async throws {
    func bytes(_ text: String, _ rate: Double) async throws -> Int {
      guard case .wave(let sound) = await SpokenSound.of(text, in: "es", rate: rate)
      else { return try #require(nil as Int?) }
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
    let long = String(repeating: "La casa es grande. ", count: 500)
    guard case .long = await SpokenSound.of(long, in: "es", rate: 0.5) else {
      Issue.record("a sound of more than ten megabytes is kept")
      return
    }
    guard case .failed = await SpokenSound.of("a", in: "no such", rate: 1) else {
      Issue.record("there is no such language")
      return
    }
  }

  @Test func `languages are named for the reader, with region and flag`() throws {
    let french = PageLanguage.all(in: "fr")
    let spanish = try #require(french.first { $0.code == "es" })
    #expect((spanish.name, spanish.native, spanish.region) == ("espagnol", "español", "Europe"))
    #expect(spanish.flag == "\u{1F1EA}\u{1F1F8}")
    let esperanto = try #require(french.first { $0.code == "eo" })
    #expect(esperanto.region.isEmpty && esperanto.flag.isEmpty)
  }
}
