import Foundation
import GRDB
import Tern
import Testing

@testable import translate

@Suite("What is kept", .timeLimit(.minutes(2)))
struct StoreTests {
  private func question(_ text: String) -> Question {
    Question(conversation: "c", source: "en", target: "es", text: text)
  }

  @Test func `of an answer that is replaced only the new words are found`() async throws {
    try await withTranslateFolder { folder in
      let database = try await TranslateDatabase.open(folder.database)
      let one = question("house")
      try await database.ask([one])
      func settle(_ answer: Answer) async throws {
        try await database.pool.write { db in
          try db.execute(
            sql: "INSERT OR REPLACE INTO asked (phrase) VALUES (?)", arguments: [one.id])
          try database.settle(one.id, answer, model: nil, in: db)
        }
      }
      func count(_ words: String) async throws -> Int {
        try await database.pool.read { try Entry.search(words, in: $0).count }
      }
      try await settle(Answer(text: "casa"))
      #expect(try await count("HOUSE cás") == 1)
      try await settle(Answer(text: "hogar", engine: "m"))
      #expect(try await count("casa") == 0)
      #expect(try await count("hogar") == 1)
      // What finds nothing to look for shows all.
      #expect(try await count("'*") == 1)
      try await settle(Answer(problem: "blocked"))
      #expect(try await count("hogar") == 0)
      try database.pool.close()
    }
  }

  @Test func `only the device that asked puts a question again that failed`() async throws {
    try await withDevices { devices, sync in
      let (a, b) = (devices[0], devices[1])
      for (device, text) in [(a, "one"), (b, "two")] {
        let one = question(text)
        try await device.ask([one])
        try await device.pool.write {
          try device.settle(one.id, Answer(problem: "blocked"), model: nil, in: $0)
        }
      }
      try await sync()
      try await b.retry()
      let left = try await b.pool.read { db in
        try Entry.newest(9, db).map { "\($0.text) \($0.state)" }
      }
      #expect(left == ["one failed", "two waiting"])
    }
  }

  /// Two that meet in a folder.
  private func withDevices(
    _ body: ([TranslateDatabase], () async throws -> Void) async throws -> Void
  ) async throws {
    try await withTranslateFolder { folder in
      var devices: [TranslateDatabase] = []
      for name in ["a", "b"] {
        devices.append(try await TranslateDatabase.open(folder.on(name).database))
      }
      let shared = URL(filePath: folder.path + "/shared")
      try FileManager.default.createDirectory(at: shared, withIntermediateDirectories: true)
      let engines = devices.map {
        SyncEngine(
          $0.replica,
          remote: DirectoryRemote(shared, space: "home", replica: $0.replica))
      }
      try await body(devices) {
        for engine in engines + engines { try await engine.syncOnce() }
      }
    }
  }
}
