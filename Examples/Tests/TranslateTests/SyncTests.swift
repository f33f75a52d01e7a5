import ExampleProcesses
import Foundation
import Testing

@testable import translate

@Suite(
  "A second device", .serialized,
  .enabled(if: TestService.isInstalled, "Apertium is not installed"), .timeLimit(.minutes(2)))
struct SyncTests {
  private func withServer(
    _ body: @escaping @Sendable (TestService, TranslateFolder, [String]) async throws -> Void
  ) async throws {
    try await TestService.withFolder { service, folder in
      let tern = try BuiltExecutable.path("tern")
      let data = folder.path + "/server"
      func first(_ words: [String]) async throws -> (ChildProcess, String) {
        let limited = ["-e", "alarm 180; exec @ARGV", tern] + words
        let process = try ChildProcess("/usr/bin/perl", arguments: limited + ["--data", data])
        let line = try await blocking {
          var line = ""
          while !line.contains("\n"), let bytes = process.read() {
            line += String(decoding: bytes, as: UTF8.self)
          }
          return line
        }
        return (process, line.trimmingCharacters(in: .whitespacesAndNewlines))
      }
      let (maker, token) = try await first(["token", "create", "--space", "home"])
      maker.endInput()
      #expect(maker.wait() == 0)
      let (server, line) = try await first(["serve", "--port", "0"])
      defer {
        server.kill(SIGTERM)
        server.endInput()
        _ = server.wait()
      }
      let url = try #require(line.split(separator: " ").last { $0.hasPrefix("http") })
      try await body(service, folder, [String(url), token])
    }
  }

  @Test func `shows what the first has, and merges with it`() async throws {
    try await withServer { service, a, server in
      let b = a.on("b")
      // Where questions go is no other device's choice.
      _ = try await b("settings", "service", service.url + "/")
      func sync(_ devices: TranslateFolder...) async throws {
        for device in devices {
          let outcome = try await device(
            "run", "--once", "--sync", server[0], "--token", server[1])
          #expect(outcome.status == 0, "\(outcome)")
        }
      }
      _ = try await a("The house.", "--from", "en")
      let database = try await TranslateDatabase.open(a.database)
      let id = try a.read { try String.fetchOne($0, sql: "SELECT id FROM phrase")! }
      #expect(try await database.keep(id))
      try database.pool.close()
      try await sync(a, b)
      #expect(try await b.history() == ["en→es\tThe house.\tLa casa."])
      let kept = try b.read { try String.fetchAll($0, sql: "SELECT translation FROM favorite") }
      #expect(kept == ["La casa."])
      #expect(try await b("history", "casa").lines.count == 2)

      // Both choose and ask without having met.
      _ = try await a("settings", "to", "fr")
      _ = try await b("settings", "from", "es")
      _ = try await a("El perro.", "--from", "es")
      _ = try await a("settings", "model", "another")
      _ = try await b("El gato.", "--from", "es", "--to", "fr")
      try await sync(a, b, a)
      for device in [a, b] {
        let settings = try await device("settings").output
        #expect(settings.contains("to\tfr") && settings.contains("from\tes"))
        let service = service.url + (device.device == "b" ? "/" : "")
        #expect(settings.contains("service\t\(service)\n"))
        // A model is the service's.
        #expect(settings.contains("model\t\(device.device == "b" ? "apertium" : "another")\n"))
        #expect(try await device.history().count == 3)
      }
      #expect(try await a.history() == b.history())

      // What a took back is gone on both, and only that.
      #expect(try await a("undo").output == "Taken back: phrase: removed 1\n")
      try await sync(a, b)
      #expect(
        try await b.history().map { $0.split(separator: "\t")[1] } == ["The house.", "El gato."])
      #expect(try await a("undo").output == "Taken back: setting: removed 1\n")
      try await sync(a, b)
      #expect(try await b("settings", "to").output == "to\tes\n")
      #expect(try b.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM answer") } == 2)
    }
  }

  @Test func `that is not let in is told so, once, while it goes on`() async throws {
    try await withServer { _, a, server in
      let run = try a.start(["run", "--sync", server[0], "--token", "wrong"])
      try await run.read(until: "not synced: No valid token")
      #expect(try await a("The house.", "--from", "en").output == "La casa.\n")
      run.kill(SIGTERM)
      run.endInput()
      var rest = ""
      while let bytes = try await blocking({ run.read() }) {
        rest += String(decoding: bytes, as: UTF8.self)
      }
      #expect(!rest.contains("not synced"))
      #expect(try await blocking { run.wait() } == 0)
    }
  }

  @Test func `sees a question while the first device still works on it`() async throws {
    let gate = Gate()
    try await ScriptedService { text, tell in
      if text == "slow" { await gate.pass() }
      try await tell(#"{"translation":"<\#(text)>","from":"en"}"#)
    }.serving { service in
      try await withServer { _, a, server in
        let b = a.on("b")
        let sync = ["run", "--once", "--sync", server[0], "--token", server[1]]
        _ = try await a("settings", "service", service.absoluteString)
        _ = try await a("slow", "--from", "en", "--later")
        _ = try await a("other", "--from", "en", "--later")
        let working = try a.start(sync)
        // Each look is two programs of their own.
        var looks = 0
        while try await b.history().count < 2, looks < 200 {
          #expect(try await b.run(sync).status == 0)
          looks += 1
        }
        #expect(try await b.history() == ["en→es\tslow\twaiting", "en→es\tother\twaiting"])
        await gate.open()
        working.endInput()
        try await working.read(until: "nothing waits")
        #expect(try await blocking { working.wait() } == 0)
        #expect(try await b.run(sync).status == 0)
        #expect(try await b.history() == ["en→es\tslow\t<slow>", "en→es\tother\t<other>"])
      }
    }
  }

  @Test func `an undo takes back what was done last, and not what came of it`() async throws {
    let port = try await TestService.closedPort()
    try await withTranslateFolder { folder in
      _ = try await folder("settings", "service", "http://127.0.0.1:\(port)")
      _ = try await folder("The house.", "--from", "en", "--later")
      _ = try await folder("settings", "to", "fr")
      try await TestService.run(port: port) { _ in
        _ = try await folder("run", "--once")
      }
      // The answer came after the choice, by itself.
      #expect(try await folder("undo").output == "Taken back: setting: removed 1\n")
      #expect(try await folder.history() == ["en→es\tThe house.\tLa casa."])
      #expect(try await folder("undo").output == "Taken back: phrase: removed 1\n")
      #expect(try await folder.history().isEmpty)
      _ = try await folder("A dog.", "--from", "en", "--later")
      #expect(try await folder("undo").output == "Taken back: phrase: removed 1\n")
      #expect(try await folder("run", "--once").output == "nothing waits\n")
    }
  }
}
