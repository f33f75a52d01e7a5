import ExampleProcesses
import ExampleService
import Foundation
import GRDB
import Testing

@Suite("How scan ends", .serialized, .timeLimit(.minutes(3)))
struct EndingTests {
  @Test(arguments: ["scan", "recognizer"])
  func `the help has the table of all programs`(_ program: String) async throws {
    let help = try await blocking {
      try ScanFolder.merged([BuiltExecutable.path(program), "--help"]).outcome()
    }
    #expect(help.status == 0)
    for ending in Ending.allCases {
      #expect(help.text.contains("\n  \(ending.rawValue) "), "\(program): \(ending)")
    }
  }

  @Test func `a photo that waits ends a run with 75`() async throws {
    try await withScanFolder { folder in
      _ = try await folder("add", folder.photo("shelf.png"))
      #expect(try await folder("run", "--once", "--service", "http://127.0.0.1:1").status == 75)
      _ = try await folder("drop", "shelf.png")
      #expect(try await folder("run", "--once", "--service", "http://127.0.0.1:1").status == 0)
    }
  }

  @Test func `a retry that is a moment away is waited for, however long the run has taken`()
    async throws
  {
    // The stream takes longer than the wait that is counted from the run's beginning.
    try await Service.run("pings-only:1", pings: .milliseconds(50)) { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        let ran = try await folder(
          "run", "--once", "--service", service.url, "--stream-seconds", "4", "--wait-seconds", "3")
        #expect(ran.status == 0, "\(ran.text)")
        #expect(try await folder.status() == "done\tshelf.png\t3 books")
      }
    }
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func `a signal ends a run that is not done with 130`(_ signal: CInt) async throws {
    try await Service.run("pings-only", pings: .milliseconds(50)) { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        let run = try ScanRun(folder, "--once", "--service", service.url)
        _ = try await run.said("analysing\tshelf.png")
        #expect(try await run.end(signal).status == 130)
      }
    }
  }

  @Test func `photos are dropped by name, with their files, and their books stay`() async throws {
    try await ScriptedScan.run { call, _ in
      // Nothing comes of the second one.
      call == .results
        ? .init(status: 500, body: #"{"title":"x","status":500,"code":"X"}"#) : nil
    } body: { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("one.png"), folder.photo("two.png"))
        _ = try await folder("run", "--once", "--service", service.url)
        #expect(try await folder("drop", "one.png").text == "1 dropped: one.png\n")
        #expect(try await folder("status").lines.map { $0.prefix(12) } == ["done\ttwo.png"])
        #expect(try await folder("library").lines.count == 1)
        let unknown = try await folder("drop", "one.png", "two.png")
        #expect(unknown.status == 64 && unknown.text.contains("1 dropped: two.png"))
        #expect(unknown.text.contains("there is no photo one.png; `scan status` lists them"))
        #expect(try await folder("status").text.isEmpty && folder.keptFiles.isEmpty)
      }
    }
  }

  @Test func `one that is being scanned is dropped, too, and what was begun is not kept`()
    async throws
  {
    try await Service.run("pings-only", pings: .milliseconds(50)) { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        let run = try ScanRun(folder, "--service", service.url)
        _ = try await run.said("analysing\tshelf.png")
        #expect(try await folder("drop", "shelf.png").status == 0)
        // What is added is taken up at once.
        try await service.misbehave("")
        _ = try await folder("add", folder.photo("other.png"))
        _ = try await run.said("done\tother.png")
        #expect(try await run.end().status == 0)
        #expect(try await folder.status() == "done\tother.png\t3 books")
      }
    }
  }
}
