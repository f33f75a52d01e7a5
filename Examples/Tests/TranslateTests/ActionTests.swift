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
      #expect(try await folder("undo").output == "Taken back: questions: 110 removed\n")
      #expect(try await folder.history() == ["en→es\tbefore\t<before>"])
      let rows = try await folder("undo", "--json").lines.dropLast()
      #expect(rows.count == 1 && rows[0].contains(#""action":"removed""#))
      #expect(rows[0].contains(#""table":"phrase""#))
      #expect(try await folder("undo").status == 1)
      for table in ["phrase", "answer", "waiting", "words"] {
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
      #expect(try await folder("undo").output == "Taken back: questions: 3 removed\n")
      #expect(try await folder("settings", "to").output == "to\tfr\n")
      #expect(try await folder("undo").output == "Taken back: settings: 1 removed\n")
    }
  }

  @Test func `an undo brings back what a file drove out of the history`() async throws {
    try await withFolder { folder in
      func file(_ name: String, _ count: Int) -> [UInt8] {
        Array((1...count).map { "\(name) \($0)\n" }.joined().utf8)
      }
      _ = try await folder("--from", "en", input: file("old", 110))
      try folder.fill("old", 111...TranslateDatabase.mostPhrases)
      _ = try await folder("--from", "en", input: file("old", 110))
      // All of it was answered before, so that the questions themselves drive others out.
      let outcome = try await folder("undo")
      #expect(outcome.status == 0 && outcome.output.contains("questions: 110 removed"))
      let left = try await folder.history()
      #expect(left.count == TranslateDatabase.mostPhrases && Set(left).count == left.count)
      #expect(left.last == "en→es\told 500\t<old 500>")
    }
  }

  @Test func `a favorite outlives its question, and can be let go`() async throws {
    try await withFolder { folder in
      _ = try await folder("first", "--from", "en")
      _ = try await folder("first", "--from", "en", "--to", "fr")
      let ids = try folder.read {
        try String.fetchAll($0, sql: "SELECT id FROM phrase ORDER BY askedAt")
      }
      for id in ids { #expect(try await folder("favorite", id).status == 0) }
      try folder.fill("line", 2...TranslateDatabase.mostPhrases)
      _ = try await folder("line 1", "--from", "en")
      #expect(try await !folder.history().contains { $0.contains("first") })
      #expect(
        try await folder("favorite").lines
          == ["en→es\tfirst\t<first>", "en→fr\tfirst\t<first>", ""])
      #expect(try await folder("favorite", ids[0], "--remove").status == 64)
      let unclear = try await folder("favorite", "first", "--remove")
      #expect(unclear.status == 64 && unclear.complaints.contains("en→es, en→fr"))
      #expect(
        try await folder("favorite", "first", "--remove", "--to", "fr").lines
          == ["en→es\tfirst\t<first>", ""])
      #expect(try await folder("favorite", "first", "--remove").output.isEmpty)
      #expect(try await folder("undo").output == "Taken back: favorites: 1 brought back\n")
      // A question that is still there goes by its id.
      let last = try folder.read {
        try String.fetchOne($0, sql: "SELECT id FROM phrase ORDER BY askedAt DESC LIMIT 1")!
      }
      #expect(try await folder("favorite", last).lines.count == 3)
      #expect(try await folder("favorite", last, "--remove").lines.count == 2)
    }
  }

  @Test func `the first five favorites are shown, by when they were added`() async throws {
    try await withFolder { folder in
      _ = try await folder(
        "--from", "en", input: Array((1...7).map { "line \($0)\n" }.joined().utf8))
      let ids = try folder.read {
        try String.fetchAll($0, sql: "SELECT id FROM phrase ORDER BY askedAt DESC")
      }
      for id in ids { _ = try await folder("favorite", id) }
      func texts(_ outcome: TranslateFolder.Outcome) -> [Substring] {
        outcome.lines.dropLast().map { $0.split(separator: "\t")[1] }
      }
      let all = (1...7).reversed().map { Substring("line \($0)") }
      #expect(try await texts(folder("favorite")) == Array(all.prefix(5)))
      #expect(try await texts(folder("favorite", "--all")) == all)
    }
  }

  @Test func `the five languages that were used last come first`() async throws {
    try await withFolder { folder in
      for target in ["de", "fr", "it", "pt", "nl", "fr"] {
        _ = try await folder("text", "--from", "en", "--to", target)
      }
      let lines = try await folder("languages").lines
      #expect(
        lines.prefix(6).map { $0.prefix(3) } == ["en\t", "fr\t", "nl\t", "pt\t", "it\t", "aa\t"])
      #expect(lines.filter { $0.hasPrefix("fr\t") }.count == 1)
      #expect(lines.contains { $0.hasPrefix("de\t") })
    }
  }

  @Test func `scripts get documents from chat, run and status, too`() async throws {
    try await withFolder { folder in
      let talk = try await folder(
        "chat", "--json", "--from", "en", "--to", "es", input: Array("one\ntwo\n".utf8))
      func documents(_ outcome: TranslateFolder.Outcome) throws -> [[String: Any]] {
        try outcome.lines.dropLast().map {
          try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:]
        }
      }
      let turns = try documents(talk)
      #expect(turns.count == 3 && turns[0]["near"] as? String == "en")
      #expect(turns[1]["translation"] as? String == "<one>")
      #expect(turns[2]["conversation"] as? String == turns[0]["conversation"] as? String)
      let late = try documents(try await folder("late", "--from", "en", "--later", "--json"))
      #expect(late.count == 1 && late.first?["state"] as? String == "waiting")
      #expect(
        try documents(try await folder("settings", "to", "fr", "--json")) as? [[String: String]]
          == [["to": "fr"]])
      let status = try documents(try await folder("status", "--json"))
      #expect(status.count == 2 && status[0]["waiting"] as? Int == 1)
      let services = try #require(status[0]["services"] as? [[String: Any]])
      #expect(services.map { $0["state"] as? String } == ["asking"])
      #expect(status[1]["text"] as? String == "late")
      let run = try documents(try await folder("run", "--once", "--json"))
      #expect(run.map { $0["waiting"] as? Int } == [0])
      let nowhere = "http://127.0.0.1:\(try await TestService.closedPort())"
      let saved = try await folder("off", "--from", "en", "--json", "--service", nowhere)
      #expect(saved.status == 75)
      #expect(try documents(saved).map { $0["text"] as? String } == ["off"])
      let turn = try await folder.run(
        ["chat", "--json", "--from", "en", "--to", "es", "--service", nowhere], Array("on\n".utf8))
      #expect(turn.status == 75)
      #expect(try documents(turn).map { $0["state"] as? String } == [nil, "waiting"])
    }
  }

  @Test func `a chat's answers are spoken where espeak-ng is installed`() async throws {
    try await withFolder { folder in
      let bin = folder.path + "/bin"
      try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
      let said = folder.path + "/said"
      try "#!/bin/sh\necho \"$@\" >> '\(said)'\n".write(
        toFile: bin + "/espeak-ng", atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o755], ofItemAtPath: bin + "/espeak-ng")
      for (path, spoken) in [(bin + ":/usr/bin:/bin", 2), ("/nowhere", 2)] {
        var folder = folder
        folder.path(path)
        let talk = try await folder(
          "chat", "--speak", "--from", "en", "--to", "es", input: Array("one\ntwo\n".utf8))
        #expect(talk.status == 0 && talk.lines.count == 4, "\(talk)")
        let words = try String(contentsOfFile: said, encoding: .utf8).split(separator: "\n")
        #expect(words == ["-v es -- <one>", "-v en -- <two>"] && words.count == spoken)
      }
    }
  }
}
