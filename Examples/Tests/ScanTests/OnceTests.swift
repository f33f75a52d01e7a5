import ExampleProcesses
import Foundation
import GRDB
import RecognizerKit
import Testing

@Suite("A run that ends by itself", .serialized, .timeLimit(.minutes(3)))
struct OnceTests {
  @Test(arguments: ["limit-seconds=2:1", "limit-bare=1:2", "strip-books,fail-results:2"])
  func `waits for pauses and retries until the scan is done`(_ misbehaviour: String) async throws {
    try await Service.run(misbehaviour) { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        let ran = try await folder(
          "run", "--once", "--service", service.url, "--pause-seconds", "1")
        #expect(ran.status == 0)
        #expect(try await folder("status").lines[0] == "done\tshelf.png\t3 books")
        #expect(try await service.counts().jobsCleaned == 1)
      }
    }
  }

  @Test func `a clean-up that failed is shown, and can be tried again`() async throws {
    try await Service.run("fail-clean-up:4") { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        #expect(try await folder("run", "--once", "--service", service.url).status == 1)
        let lines = try await folder("status").lines
        #expect(lines[0] == "done\tshelf.png\t3 books")
        #expect(lines[1].hasPrefix("failed\ta clean-up at the service\tthe server answered 500"))
        #expect(lines[1].hasSuffix("; `scan retry` tries again"))
        #expect(try await folder("retry").text == "1 are tried again by `scan run`\n")
        _ = try await folder("run", "--once", "--service", service.url)
        #expect(try await !folder("status").text.contains("failed"))
        #expect(try await service.counts().jobsCleaned == 1)
      }
    }
  }

  @Test func `a photo that never left counts no lost answer`() async throws {
    try await Service.run { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        // Nobody speaks TLS there.
        let secure = service.url.replacing("http:", with: "https:")
        let ran = try await folder("run", "--once", "--service", secure)
        #expect(ran.status == 1)
        // What failed before is none of the next run's.
        #expect(try await folder("run", "--once", "--service", secure).status == 0)
        let status = try await folder("status").lines[0]
        #expect(status.hasPrefix("failed\tshelf.png\t0 books\tno trusted TLS connection"))
        #expect(!ran.text.contains("answers lost"))
        let starts = try folder.read { db in
          try Int.fetchOne(db, sql: "SELECT starts FROM grdb_tern_job")
        }
        #expect(starts == 4)
        _ = try await folder("retry")
        _ = try await folder("run", "--once", "--service", service.url)
        #expect(try await folder("status").lines[0] == "done\tshelf.png\t3 books")
      }
    }
  }

  @Test func `what keeps it from telling ends it with the reason`() async throws {
    try await Service.run("pings-only", pings: .milliseconds(50)) { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        let run = try ScanRun(folder, "--service", service.url, "--stream-seconds", "5")
        _ = try await run.said("analysing\tshelf.png")
        try folder.write("DROP TABLE device")
        _ = try await run.said("no such table: device")
        #expect(try await run.end().status == 1)
      }
    }
  }

  @Test func `accepting starts no program, and so decodes nothing`() async throws {
    try await withScanFolder { folder in
      let photo = try await folder.photo("shelf.png")
      let nothing = ["PATH": "/nonexistent"]
      let added = try await folder("add", photo, environment: nothing)
      #expect(added.status == 0)
      #expect(added.text.hasPrefix("accepted: shelf.png"))
      // The same tools are missed by whoever decodes it.
      _ = try await folder("run", "--once", "--service", "http://127.0.0.1:1", environment: nothing)
      let status = try await folder("status").lines[0]
      #expect(status.hasPrefix("failed\t"))
      #expect(status.contains("gm is not installed"))
      // To try again without it is of no use.
      #expect(
        try folder.read { try Int.fetchOne($0, sql: "SELECT starts FROM grdb_tern_job") } == 1)
    }
  }

  @Test(.enabled(if: PhotoReader.missingTools == nil, "the recognizer's tools are not installed"))
  func `the recognizer of a run is in its process, and dies with it`() async throws {
    try await withScanFolder { folder in
      let catalogue = try folder.file(
        "books.csv", Array("title,authors,isbn\nDune,Herbert,\n".utf8))
      _ = try await folder("add", folder.photo("shelf.png"))
      let run = try ScanRun(folder, "--catalogue", catalogue)
      _ = try await run.said("done\tshelf.png\t0 books")
      // Reads to the end of the output, which a child of it would still hold.
      #expect(try await run.end(SIGKILL).status == SIGKILL)
    }
  }

  @Test(.enabled(if: PhotoReader.missingTools == nil, "the recognizer's tools are not installed"))
  func `the recognizer of a run ends without a word, and no line comes twice`() async throws {
    try await withScanFolder { folder in
      let catalogue = try folder.file(
        "books.csv", Array("title,authors,isbn\nDune,Herbert,\n".utf8))
      _ = try await folder("add", folder.photo("shelf.png"))
      let ran = try await folder("run", "--once", "--catalogue", catalogue)
      #expect(ran.status == 0)
      #expect(!ran.text.contains("error"), "\(ran.text)")
      #expect(ran.lines.filter { $0 == "done\tshelf.png\t0 books" }.count == 1)
    }
  }

  @Test(.enabled(if: PhotoReader.missingTools == nil, "the recognizer's tools are not installed"))
  func `with nothing else running a scan brings its recognizer along, and says so in a line`()
    async throws
  {
    try await withScanFolder { folder in
      _ = try await folder("add", folder.photo("shelf.png"))
      let ran = try await folder("run", "--once")
      #expect(ran.status == 0)
      let told = ran.lines.filter { $0.hasPrefix("no service is named: a recognizer runs in") }
      #expect(told.count == 1)
      #expect(told.first?.contains("at http://127.0.0.1:") == true)
      #expect(told.first?.hasSuffix("Library/catalogue.csv; --service URL names another") == true)
      #expect(ran.text.contains("done\tshelf.png"))
    }
  }

  @Test func `a catalogue that is not there is named`() async throws {
    try await withScanFolder { folder in
      let missing = try await folder("run", "--once", "--catalogue", folder.path + "/none.csv")
      #expect(missing.status == 64)
      #expect(missing.text == "Error: \(folder.path)/none.csv: No such file or directory\n")
    }
  }
}
