import ExampleProcesses
import Foundation
import GRDB
import Testing

@testable import translate

@Suite("What a person did, and keeps", .serialized, .timeLimit(.minutes(3)))
struct ActionTests {
  private func withFolder(_ body: @escaping @Sendable (TranslateFolder) async throws -> Void)
    async throws
  {
    try await ScriptedService.withFolder { text, tell in
      try await tell(#"{"translation":"<\#(text)>","from":"en"}"#)
    } body: {
      try await body($0)
    }
  }

  @Test func `an undo takes back all lines of a file, and what was done before it next`()
    async throws
  {
    try await withFolder { folder in
      _ = try await folder("before", "--from", "en")
      let lines = (1...110).map { "line \($0)\n" }.joined()
      #expect(try await folder("--from", "en", input: Array(lines.utf8)).status == 0)
      #expect(try folder.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM phrase") } == 111)
      #expect(try await folder("undo").output == "Taken back: phrase: removed 110\n")
      #expect(try await folder.history() == ["en→es\tbefore\t<before>"])
      #expect(try await folder("undo").output == "Taken back: phrase: removed 1\n")
      #expect(try await folder("undo").status == 1)
      for table in ["phrase", "answer", "asked"] {
        #expect(
          try folder.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") } == 0)
      }
    }
  }

  @Test func `an undo takes back a pipe whose lines came one by one, and not what came between`()
    async throws
  {
    try await withFolder { folder in
      let process = try folder.start(["--from", "en"], redirect: "2>/dev/null")
      for text in ["one", "two", "three"] {
        try process.write("\(text)\n")
        try await process.read(until: "<\(text)>\n")
        if text == "two" { _ = try await folder("settings", "to", "fr") }
      }
      process.endInput()
      #expect(try await blocking { process.wait() } == 0)
      #expect(try await folder("undo").output == "Taken back: phrase: removed 3\n")
      #expect(try await folder("settings", "to").output == "to\tfr\n")
      #expect(try await folder("undo").output == "Taken back: setting: removed 1\n")
    }
  }

  @Test func `an undo brings back what a file drove out of the history`() async throws {
    try await withFolder { folder in
      func file(_ name: String, _ count: Int) -> [UInt8] {
        Array((1...count).map { "\(name) \($0)\n" }.joined().utf8)
      }
      _ = try await folder("--from", "en", input: file("old", 110))
      try folder.fill("old", 111...TranslateDatabase.mostPhrases)
      try await folder.age()
      _ = try await folder("--from", "en", input: file("old", 110))
      // All of it was answered before, so that the questions themselves drive others out.
      let outcome = try await folder("undo")
      #expect(outcome.status == 0 && outcome.output.contains("phrase: removed 110"))
      let left = try await folder.history()
      #expect(left.count == TranslateDatabase.mostPhrases && Set(left).count == left.count)
      #expect(left.last == "en→es\told 500\t<old 500>")
    }
  }

  @Test func `a favorite outlives its question, and can be let go`() async throws {
    try await withTranslateFolder { folder in
      let database = try await TranslateDatabase.open(folder.database)
      let question = Question(conversation: "c", source: "auto", target: "es", text: "first")
      try await database.ask([question])
      #expect(try await !database.keep(question.id))
      try await database.pool.write {
        try database.settle(question.id, Answer(text: "uno", source: "en"), model: nil, in: $0)
      }
      func kept() async throws -> [String] {
        try await database.pool.read { db in
          try Favorite.fetchAll(db).map { "\($0.source) \($0.target) \($0.text) \($0.translation)" }
        }
      }
      for _ in 1...2 { #expect(try await database.keep(question.id)) }
      try await database.clearHistory()
      #expect(try await kept() == ["en es first uno"])
      try await database.letGo("first", from: "en", to: "fr")
      #expect(try await kept().count == 1)
      try await database.letGo("first", from: "en", to: "es")
      #expect(try await kept().isEmpty)
      #expect(try await database.undo().map(\.table) == ["favorite"])
      #expect(try await kept().count == 1)
      try database.pool.close()
    }
  }

  @Test func `scripts get documents, also of what waits`() async throws {
    try await withFolder { folder in
      func documents(_ outcome: TranslateFolder.Outcome) throws -> [[String: Any]] {
        try outcome.lines.dropLast().map {
          try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:]
        }
      }
      let told = try documents(
        try await folder("--json", "--from", "en", input: Array("one\ntwo\n".utf8)))
      #expect(told.map { $0["translation"] as? String } == ["<one>", "<two>"])
      #expect(told[0]["conversation"] as? String == told[1]["conversation"] as? String)
      let late = try documents(try await folder("late", "--from", "en", "--later", "--json"))
      #expect(late.count == 1 && late.first?["state"] as? String == "waiting")
      let status = try documents(try await folder("status", "--json"))
      #expect(status.count == 1 && status[0]["waiting"] as? Int == 1)
      #expect(status[0]["state"] as? String == "asking")
      let run = try documents(try await folder("run", "--once", "--json"))
      #expect(run.map { $0["waiting"] as? Int } == [0])
      _ = try await folder("settings", "to", "fr")
      #expect(try await folder("settings", "to").output == "to\tfr\n")
      let nowhere = "http://127.0.0.1:\(try await TestService.closedPort())"
      _ = try await folder("settings", "service", nowhere)
      let saved = try await folder("off", "--from", "en", "--json")
      #expect(saved.status == 75)
      #expect(try documents(saved).map { $0["text"] as? String } == ["off"])
      #expect(
        try documents(try await folder("status", "--json"))[0]["state"] as? String == "unreachable")
    }
  }
}
