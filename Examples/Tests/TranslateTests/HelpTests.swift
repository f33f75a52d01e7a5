import ExampleProcesses
import ExampleService
import Foundation
import Testing

@Suite("What the program says of itself", .serialized, .timeLimit(.minutes(2)))
struct HelpTests {
  @Test(arguments: ["translate", "interpreter"])
  func `the help has the table of all programs`(_ program: String) async throws {
    let help = try await blocking {
      let process = try ChildProcess(
        BuiltExecutable.path(program), arguments: ["--help"], environment: ["LC_ALL": "C.UTF-8"])
      process.endInput()
      var output: [UInt8] = []
      while let bytes = process.read() { output += bytes }
      return String(decoding: output, as: UTF8.self)
    }
    for ending in Ending.allCases {
      #expect(help.contains("\n  \(ending.rawValue) "), "\(program): \(ending)")
    }
    let shows = help.contains("USAGE: translate TEXT [--from en] [--to es]\n")
    #expect(shows == (program == "translate"), "\(help)")
  }

  @Test func `a command that is written wrong is no question`() async throws {
    try await withTranslateFolder { folder in
      for (word, command) in [("statsu", "status"), ("histry", "history"), ("setings", "settings")]
      {
        let outcome = try await folder(word)
        #expect(outcome.status == 64, "\(outcome)")
        #expect(outcome.complaints.contains("“\(word)” is nearly the command “\(command)”"))
      }
      #expect(try await folder.history().isEmpty)
      // Who names a language, or is in no doubt, means the word.
      let port = try await TestService.closedPort()
      _ = try await folder("settings", "service", "http://127.0.0.1:\(port)")
      for words in [["statsu", "--from", "en"], ["ask", "statsu"], ["sun"]] {
        #expect(try await folder.run(words).status == 75, "\(words)")
      }
    }
  }

  @Test func `without a service it says what to start, and where to name another`() async throws {
    let port = try await TestService.closedPort()
    try await withTranslateFolder { folder in
      _ = try await folder("settings", "service", "http://127.0.0.1:\(port)")
      let outcome = try await folder("one", "--from", "en")
      #expect(outcome.status == 75, "\(outcome)")
      #expect(outcome.complaints.contains("nothing answers at http://127.0.0.1:\(port); start"))
      #expect(!outcome.complaints.contains("libcurl"))
    }
  }
}
