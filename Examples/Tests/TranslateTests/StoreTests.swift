import Foundation
import GRDB
import Synchronization
import Tern
import Testing

@testable import translate

@Suite("What is kept", .timeLimit(.minutes(2)))
struct StoreTests {
  private func question(_ text: String) -> Question {
    Question(
      text: text, source: "en", target: "es", conversation: "c", service: "http://127.0.0.1:1")
  }

  /// What has to be found once, and what no more.
  private func expect(
    _ found: [String], not lost: [String], in database: TranslateDatabase,
    at location: SourceLocation = #_sourceLocation
  ) async throws {
    try await database.pool.read { db in
      for text in found {
        #expect(try History.search(text, in: db).count == 1, "\(text)", sourceLocation: location)
      }
      for text in lost {
        #expect(try History.search(text, in: db).isEmpty, "\(text)", sourceLocation: location)
      }
      let rows = try String.fetchAll(db, sql: "SELECT kind || ' ' || text FROM words ORDER BY 1")
      let kept = try String.fetchAll(
        db,
        sql: """
          SELECT 'phrase ' || text FROM phrase
          UNION ALL SELECT 'answer ' || text FROM answer WHERE text IS NOT NULL ORDER BY 1
          """)
      #expect(rows == kept, sourceLocation: location)
    }
  }

  @Test func `an answer reads none of those that somebody waits for, however many`() async throws {
    try await withTranslateFolder { folder in
      let database = try await TranslateDatabase.open(folder.database)
      let ids = try await database.ask(["one", "two"].map(question))
      let statements = Mutex<[String]>([])
      func settle(_ id: String) async throws -> [String] {
        try await database.pool.writeWithoutTransaction { db in
          statements.withLock { $0 = [] }
          db.trace { event in statements.withLock { $0.append("\(event)") } }
          try db.inTransaction {
            try database.settle(id, Answer(text: "x"), model: nil, in: db)
            return .commit
          }
          db.trace()
        }
        return statements.withLock { $0 }.filter { $0.contains("OFFSET") }
      }
      try await database.holding("c") { () async throws -> Void in
        #expect(try await settle(ids[0]).isEmpty)
      }
      #expect(try await settle(ids[1]).count == 1)
    }
  }

  @Test func `of an answer that is replaced only the new words are found`() async throws {
    try await withTranslateFolder { folder in
      let database = try await TranslateDatabase.open(folder.database)
      let id = try await database.ask([question("house")])[0]
      func settle(_ answer: Answer) async throws {
        try await database.pool.write { db in
          try db.execute(sql: "INSERT OR IGNORE INTO waiting (phrase) VALUES (?)", arguments: [id])
          try database.settle(id, answer, model: nil, in: db)
        }
      }
      try await settle(Answer(text: "casa"))
      try await settle(Answer(text: "hogar", engine: "m"))
      try await expect(["house", "hogar"], not: ["casa"], in: database)
      // However it is written.
      try await database.replica.write { db in
        try db.execute(
          sql: "INSERT OR REPLACE INTO answer (phrase, text) VALUES (?, 'vivienda')",
          arguments: [id])
        try db.execute(
          sql: "INSERT OR REPLACE INTO phrase SELECT id, conversation, source, target, 'home', "
            + "askedAt FROM phrase")
      }
      try await expect(["home", "vivienda"], not: ["house", "hogar"], in: database)
      try await settle(Answer(problem: "blocked"))
      try await expect(["home"], not: ["vivienda"], in: database)
    }
  }

  @Test func `of an answer that another device replaced only the new words are found`()
    async throws
  {
    try await withDevices { devices, sync in
      let (a, b) = (devices[0], devices[1])
      let id = try await a.ask([question("house")])[0]
      try await a.pool.write { try a.settle(id, Answer(text: "casa"), model: nil, in: $0) }
      try await sync()
      try await expect(["house", "casa"], not: [], in: b)
      for (device, text) in [(a, "hogar"), (b, "vivienda")] {
        try await device.replica.write { db in
          try db.execute(
            sql: "INSERT OR REPLACE INTO answer (phrase, text) VALUES (?, ?)",
            arguments: [id, text])
        }
        try await device.replica.write { db in
          try db.execute(sql: "UPDATE phrase SET text = ?", arguments: ["home of \(text)"])
        }
      }
      try await sync()
      let texts = ["hogar", "vivienda"]
      let last = try await a.pool.read { try String.fetchOne($0, sql: "SELECT text FROM answer")! }
      for device in devices {
        try await expect(
          ["home", last], not: ["house", "casa"] + texts.filter { $0 != last }, in: device)
      }
    }
  }

  @Test func `a file in which words stand twice is mended as it is opened`() async throws {
    try await withTranslateFolder { folder in
      do {
        let database = try await TranslateDatabase.open(folder.database)
        let id = try await database.ask([question("house")])[0]
        try await database.pool.write { db in
          try database.settle(id, Answer(text: "hogar"), model: nil, in: db)
          // As it was left by what the program was before.
          try db.execute(
            sql: """
              INSERT INTO words VALUES (?1, 'answer', 'casa'), (?1, 'answer', 'hogar');
              """, arguments: [id])
          try db.execute(sql: "DELETE FROM grdb_migrations WHERE identifier = 'search'")
        }
        try database.pool.close()
      }
      let database = try await TranslateDatabase.open(folder.database)
      try await expect(["house", "hogar"], not: ["casa"], in: database)
    }
  }

  @Test func `only the device that asked puts a question again that failed long ago`() async throws
  {
    try await withDevices { devices, sync in
      let (a, b) = (devices[0], devices[1])
      for (device, text) in [(a, "one"), (b, "two")] {
        let id = try await device.ask([question(text)])[0]
        try await device.pool.write {
          try device.settle(id, Answer(problem: "blocked"), model: nil, in: $0)
        }
      }
      try await sync()
      for device in devices {
        // As it was filled where it came to be.
        try await device.pool.write { db in
          try db.execute(
            sql: """
              DELETE FROM failed;
              INSERT INTO failed (phrase) SELECT phrase FROM answer WHERE problem IS NOT NULL;
              """)
        }
      }
      try await b.retry()
      let waiting = try await b.pool.read {
        try String.fetchAll($0, sql: "SELECT text FROM waiting JOIN phrase ON id = phrase")
      }
      #expect(waiting == ["two"])
      let left = try await b.pool.read { db in
        try Entry.newest(9, in: nil, db).map { "\($0.text) \($0.state)" }
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
