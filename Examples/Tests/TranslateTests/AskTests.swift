import ExampleProcesses
import Foundation
import GRDB
import Synchronization
import Testing

@testable import translate

@Suite(
  "A question", .serialized, .enabled(if: TestService.isInstalled, "Apertium is not installed"),
  .timeLimit(.minutes(3)))
struct AskTests {
  @Test func `is answered, told with its engine, and is one row of the history`() async throws {
    try await TestService.withFolder { _, folder in
      let outcome = try await folder("The house is big.", "--from", "en")
      #expect(outcome.status == 0 && outcome.output == "La casa es grande.\n")
      #expect(outcome.complaints == "(made by apertium/eng-spa, 100 % sure)\n")
      let found = try await folder("La maison est grande.", "--json")
      let entry = try JSONDecoder().decode(Entry.self, from: Data(found.output.utf8))
      #expect(entry.found == "fr" && entry.translation == "La casa es grande.")
      #expect(entry.state == "done" && entry.confidence == 1)
      #expect(
        try await folder.history() == [
          "en→es\tThe house is big.\tLa casa es grande.",
          "fr→es\tLa maison est grande.\tLa casa es grande.",
        ])
      #expect(try await folder("history", "hous maison").output.isEmpty)
      #expect(try await folder("history", "HOUS grand").output.contains("The house is big."))
      #expect(try await folder("history", "gránde").output.split(separator: "\n").count == 2)
      #expect(try folder.read(Language.lastUsed) == ["es", "fr", "en"])
    }
  }

  @Test func `that was answered before asks nobody`() async throws {
    try await TestService.withFolder { service, folder in
      for _ in 1...2 {
        #expect(try await folder("The dog.", "--from", "en").output == "El perro.\n")
      }
      let twice = try await folder("--from", "en", input: Array("A cat.\nA cat.\n".utf8))
      #expect(twice.lines == ["Un gato.", "Un gato.", ""])
      #expect(try await service.counts().requests == 2)
      // Another pair and another model are other questions.
      _ = try await folder("El perro.", "--from", "es", "--to", "fr")
      _ = try await folder("settings", "model", "another")
      let other = try await folder("The dog.", "--from", "en")
      #expect(other.status == 1 && other.complaints.contains("models/another is not found"))
      #expect(try await folder.history().count == 6)
    }
  }

  @Test func `of many lines keeps their order, also where some have no translation`()
    async throws
  {
    try await TestService.withFolder("block-answer:1") { _, folder in
      let text = "One dog.\n\nTwo dogs.\r\nThree dogs."
      let outcome = try await folder("--from", "en", input: Array(text.utf8))
      #expect(outcome.status == 1)
      #expect(outcome.lines == ["", "Dos perros.", "Tres perros.", ""])
      #expect(outcome.complaints.contains("One dog.: the service refuses to translate this"))
    }
  }

  @Test(arguments: [
    ("block-prompt", "say it in other words"), ("block-answer", "say it in other words"),
    ("recite", "ask for a part of it"), ("truncate", "ask in smaller parts"),
    ("empty", "choose another model"),
  ])
  func `that gets no translation says why, once and for ever`(
    _ misbehaviour: String, _ advice: String
  ) async throws {
    try await TestService.withFolder(misbehaviour) { service, folder in
      let outcome = try await folder("The house is big and old and far away.", "--from", "en")
      #expect(outcome.status == 1 && outcome.complaints.contains(advice))
      #expect(try await service.counts().requests == 1)
      #expect(try await folder("run", "--once").output == "nothing waits\n")
      let spanish = try await folder("settings", "language", "es")
      #expect(spanish.status == 0)
      #expect(try await folder.history()[0].contains("el servicio"))
    }
  }

  @Test func `with a wrong key says what to set, and the key is nowhere`() async throws {
    let secret = "a-wrong-key-0123456789"
    try await TestService.withFolder("", key: "the right one") { _, folder in
      var wrong = folder
      wrong.environment["GEMINI_API_KEY"] = secret
      let outcome = try await wrong("The house.", "--from", "en")
      #expect(outcome.status == 1 && outcome.complaints.contains("set GEMINI_API_KEY"))
      wrong.environment["GEMINI_API_KEY"] = "the right one"
      #expect(try await wrong("run", "--once", "--retry").output == "nothing waits\n")
      #expect(try await wrong.history() == ["en→es\tThe house.\tLa casa."])
      #expect(!(outcome.output + outcome.complaints).contains(secret))
      var files = 0
      for file in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
        let path = "\(folder.path)/\(file)"
        guard let bytes = FileManager.default.contents(atPath: path) else { continue }
        #expect(bytes.range(of: Data(secret.utf8)) == nil, "\(file)")
        files += 1
      }
      #expect(files > 0)
    }
  }

  @Test func `for which a program without a key is refused waits for one that has it`()
    async throws
  {
    try await TestService.withFolder("", key: "the right one") { _, folder in
      let outcome = try await folder("The house.", "--from", "en")
      #expect(outcome.status == 75 && outcome.complaints.contains("set GEMINI_API_KEY and start"))
      let run = try await folder("run", "--once")
      #expect(run.status == 75 && run.output.contains("it wants a key: set"), "\(run)")
      #expect(try await folder.history() == ["en→es\tThe house.\twaiting"])
      var other = folder
      other.environment["GEMINI_API_KEY"] = "the right one"
      #expect(try await other("The dog.", "--from", "en").output == "El perro.\n")
      #expect(try await folder.history()[0] == "en→es\tThe house.\tLa casa.")
    }
  }

  @Test func `is asked again after a failure`() async throws {
    // Side by side, since each waits.
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      for misbehaviour in ["overloaded:1", "cut-stream:1", "broken-json:1"] {
        tasks.addTask {
          try await TestService.withFolder(misbehaviour) { service, folder in
            let text = "The house is big and the dog is small and old."
            let outcome = try await folder(text, "--from", "en")
            #expect(outcome.status == 0, "\(outcome)")
            #expect(outcome.complaints.contains(/tried again in [0-9] s/))
            #expect(try await service.counts().requests == 2)
          }
        }
      }
      try await tasks.waitForAll()
    }
  }

  @Test func `whose service fails four times ends with a way out, and the next one's turn comes`()
    async throws
  {
    try await TestService.withFolder("overloaded:4") { service, folder in
      let outcome = try await folder(
        "--from", "en", input: Array("The house.\nThe dog.\n".utf8))
      #expect(outcome.status == 1 && outcome.lines == ["", "El perro.", ""])
      #expect(outcome.complaints.contains("choose another by `translate settings service`"))
      #expect(outcome.complaints.contains(/tried again in [1-4] s/))
      #expect(try await service.counts().requests == 5)
    }
  }

  @Test(arguments: ["limit-info=1:1", "limit-seconds=1:1"])
  func `to a service that wants a pause says so, and costs nothing`(_ misbehaviour: String)
    async throws
  {
    try await TestService.withFolder(misbehaviour) { service, folder in
      let outcome = try await folder("The house.", "--from", "en")
      #expect(outcome.status == 0 && outcome.output == "La casa.\n")
      #expect(outcome.complaints.contains(/the service wants no requests for [0-9] s/))
      #expect(try await service.counts().refusals == ["RESOURCE_EXHAUSTED": 1])
    }
  }

  @Test func `goes to what is installed where the service wants a pause and that is wished`()
    async throws
  {
    try await TestService.withFolder("limit-seconds=60:1") { _, folder in
      let outcome = try await folder("The house.", "--from", "en", "--offline")
      #expect(outcome.status == 0 && outcome.output == "La casa.\n", "\(outcome)")
      #expect(outcome.complaints.contains("offline"))
    }
  }

  @Test func `is answered once the network is back, whatever failed before`() async throws {
    let port = try await TestService.closedPort()
    try await withTranslateFolder { folder in
      _ = try await folder("settings", "service", "http://127.0.0.1:\(port)")
      #expect(try await folder("The house.", "--from", "en").status == 75)
      try await TestService.run(port: port) { _ in
        let outcome = try await folder("The dog.", "--from", "en")
        #expect(outcome.status == 0 && outcome.output == "El perro.\n", "\(outcome)")
      }
    }
  }

  @Test func `is saved, too, when the network goes after a failure of the service`()
    async throws
  {
    let port = try await TestService.closedPort()
    try await withTranslateFolder { folder in
      _ = try await folder("settings", "service", "http://127.0.0.1:\(port)")
      let asking = Mutex<ChildProcess?>(nil)
      try await TestService.run("overloaded:9", port: port) { _ in
        let process = try folder.start(["The house.", "--from", "en"])
        asking.withLock { $0 = process }
        try await process.read(until: "tried again")
      }
      let process = try #require(asking.withLock { $0 })
      try await process.read(until: "1 saved for later")
      process.endInput()
      #expect(try await blocking { process.wait() } == 75)
    }
  }

  @Test func `of a long file that was all answered before is told to its last line`()
    async throws
  {
    try await TestService.withFolder { service, folder in
      _ = try await folder("A cat.", "--from", "en")
      let count = TranslateDatabase.mostPhrases + 150
      let input = Array(String(repeating: "A cat.\n", count: count).utf8)
      let outcome = try await folder("--from", "en", input: input)
      #expect(outcome.status == 0)
      #expect(outcome.output == String(repeating: "Un gato.\n", count: count))
      #expect(try await folder.history().count == TranslateDatabase.mostPhrases)
      try await folder.age()
      _ = try await folder("A dog.", "--from", "en")
      let left = try folder.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM phrase") }
      #expect(left == TranslateDatabase.mostPhrases)
      #expect(try await service.counts().requests == 2)
    }
  }

  @Test func `without a network is saved, or answered by what is installed`() async throws {
    let port = try await TestService.closedPort()
    try await withTranslateFolder { folder in
      _ = try await folder("settings", "service", "http://127.0.0.1:\(port)")
      let saved = try await folder("The house.", "--from", "en")
      #expect(saved.status == 75 && saved.output.isEmpty)
      #expect(saved.complaints.contains("1 saved for later"))
      #expect(try await folder("status").lines[0].hasPrefix("1 waiting"))
      let offline = try await folder("The dog.", "--from", "en", "--offline")
      #expect(offline.status == 0 && offline.output == "El perro.\n")
      #expect(offline.complaints.contains("offline"))
      #expect(
        try await folder.history() == [
          "en→es\tThe house.\twaiting", "en→es\tThe dog.\tEl perro.\toffline",
        ])
      try await TestService.run(port: port) { service in
        let outcome = try await folder("run", "--once")
        #expect(outcome.output == "nothing waits\n")
        #expect(try await service.counts().requests == 1)
      }
      #expect(try await folder.history()[0] == "en→es\tThe house.\tLa casa.")
      #expect(try await folder.history().count == 2)
    }
  }
}
