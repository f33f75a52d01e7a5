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

  @Test func `languages are named for the reader, with region and flag`() throws {
    let french = PageLanguage.all(in: "fr")
    let spanish = try #require(french.first { $0.code == "es" })
    #expect((spanish.name, spanish.native, spanish.region) == ("espagnol", "español", "Europe"))
    #expect(spanish.flag == "\u{1F1EA}\u{1F1F8}")
    let esperanto = try #require(french.first { $0.code == "eo" })
    #expect(esperanto.region.isEmpty && esperanto.flag.isEmpty)
  }
}
