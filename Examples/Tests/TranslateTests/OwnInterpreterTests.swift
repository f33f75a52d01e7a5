import ExampleProcesses
import Foundation
import GRDB
import InterpreterClient
import InterpreterKit
import Synchronization
import Testing

@testable import translate

@Suite(
  "With nothing else running", .serialized,
  .enabled(if: TestService.isInstalled, "Apertium is not installed"), .timeLimit(.minutes(3)))
struct OwnInterpreterTests {
  private static let says = "No service is chosen: the interpreter runs in this program, at "

  @Test func `a question is answered, and one line says by whom`() async throws {
    try await withTranslateFolder { folder in
      let outcome = try await folder("The house is big.", "--from", "en")
      #expect(outcome.status == 0 && outcome.output == "La casa es grande.\n")
      let lines = outcome.complaints.split(separator: "\n")
      #expect(lines.count == 2)
      #expect(lines.first?.hasPrefix(Self.says + "http://127.0.0.1:") == true)
      #expect(lines.first?.contains("until it ends") == true)
      #expect(lines.first?.contains("`translate settings service URL --model M`") == true)
      // The port is another each time, and nothing keeps it.
      let service = try folder.read { try String.fetchAll($0, sql: "SELECT * FROM localSetting") }
      #expect(service.isEmpty)
      let again = try await folder("A cat.", "--from", "en", "--json")
      #expect(again.status == 0 && again.complaints.hasPrefix(Self.says))
    }
  }

  @Test func `two programs at once have one each`() async throws {
    try await withTranslateFolder { folder in
      async let first = folder("--from", "en", input: Array("One dog.\nTwo dogs.\n".utf8))
      async let second = folder.on("b")("A cat.", "--from", "en")
      let (one, other) = try await (first, second)
      #expect(one.status == 0 && one.output == "Un perro.\nDos perros.\n")
      #expect(other.status == 0 && other.output == "Un gato.\n")
    }
  }

  @Test func `what was kept is answered by a run`() async throws {
    try await withTranslateFolder { folder in
      #expect(try await folder("The dog.", "--from", "en", "--later").complaints.contains("saved"))
      let run = try await folder("run", "--once")
      #expect(run.status == 0 && run.complaints.hasPrefix(Self.says))
      #expect(try await folder.history() == ["en→es\tThe dog.\tEl perro."])
    }
  }

  @Test func `a service that is chosen, or already runs, is the one that is asked`() async throws {
    try await TestService.run(port: 8091) { service in
      try await withTranslateFolder { folder in
        let outcome = try await folder("The dog.", "--from", "en")
        #expect(outcome.output == "El perro.\n" && !outcome.complaints.contains(Self.says))
        #expect(try await service.counts().requests == 1)
      }
    }
    try await withTranslateFolder { folder in
      let port = try await TestService.closedPort()
      _ = try await folder("settings", "service", "http://127.0.0.1:\(port)")
      let chosen = try await folder("The dog.", "--from", "en")
      #expect(chosen.status == 75 && !chosen.complaints.contains("No service is chosen"))
    }
  }

  @Test func `where Apertium is missing, the command that installs it is named`() async throws {
    let told = Mutex<[URL?]>([])
    let port = try await TestService.closedPort()
    try await StandIn.serving(for: "http://127.0.0.1:\(port)", by: Apertium(pairs: [])) { url in
      told.withLock { $0.append(url) }
    } _: { url in
      #expect(url == nil)
    }
    #expect(told.withLock { $0 } == [nil])
    let words = Word.noOwnService.text(Apertium.packages.joined(separator: " "))
    #expect(words.contains("`apt-get install apertium apertium-eng-spa apertium-fr-es`"))
  }
}
