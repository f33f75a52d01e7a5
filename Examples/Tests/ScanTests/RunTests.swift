import ExampleProcesses
import Foundation
import GRDB
import RecognizerKit
import Testing

@Suite("Running a scan", .serialized, .timeLimit(.minutes(3)))
struct RunTests {
  @Test func `one photo that stands still keeps no other from being done`() async throws {
    // The first stream that is opened never tells anything, whichever photo's it is.
    try await Service.run("pings-only:1", pings: .milliseconds(50)) { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("one.png"), folder.photo("two.png"))
        let run = try ScanRun(folder, "--service", service.url)
        _ = try await run.said("done\t", "3 books")
        let words = try await folder("status").lines.prefix(2).map { $0.prefix { $0 != "\t" } }
        #expect(words.sorted() == ["analysing", "done"])
        #expect(try await run.end().status == 0)
        // The other one goes on from where it stood, with no second job for it.
        _ = try await folder("run", "--once", "--service", service.url)
        #expect(
          try await folder("status").lines.prefix(2)
            == ["done\tone.png\t3 books", "done\ttwo.png\t3 books"])
        #expect(try await service.counts().jobsCreated == 2)
        let times = try folder.read { try Int.fetchAll($0, sql: "SELECT timesScanned FROM book") }
        #expect(times == [2, 2, 2])
      }
    }
  }

  @Test func `photos can be added while another process works, which takes them up`()
    async throws
  {
    try await Service.run { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("one.png"))
        let run = try ScanRun(folder, "--service", service.url)
        _ = try await run.said("done\tone.png")
        #expect(try await folder("add", folder.photo("two.png")).status == 0)
        _ = try await run.said("done\ttwo.png\t3 books")
        #expect(try await run.end().status == 0)
      }
    }
  }

  @Test func `a second run says that there is one, and disturbs nobody`() async throws {
    try await Service.run { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("one.png"))
        let run = try ScanRun(folder, "--service", service.url)
        _ = try await run.said("done\tone.png")
        let second = try await folder("run", "--once", "--service", service.url)
        #expect(second.status == 75)
        #expect(second.text.contains("another worker works on this database"))
        _ = try await folder("add", folder.photo("two.png"))
        _ = try await run.said("done\ttwo.png")
        #expect(try await run.end().status == 0)
      }
    }
  }

  @Test(arguments: [SIGTERM, SIGINT])
  func `a signal ends the work with status 0, and the next run goes on`(_ signal: CInt)
    async throws
  {
    try await Service.run("pings-only", pings: .milliseconds(50)) { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        let run = try ScanRun(folder, "--service", service.url)
        _ = try await run.said("analysing\tshelf.png")
        let ended = try await run.end(signal)
        #expect(ended.status == 0)
        #expect(ended.lines.filter { $0.hasPrefix("left today:") }.count == 1)
        try await service.misbehave("")
        #expect(
          try folder.read { try Int.fetchOne($0, sql: "SELECT failures FROM grdb_tern_job") } == 0)
        _ = try await folder("run", "--once", "--service", service.url)
        #expect(try await folder("status").lines[0] == "done\tshelf.png\t3 books")
        #expect(try await service.counts().jobsCreated == 1)
        #expect(folder.keptFiles == [])
      }
    }
  }

  @Test func `without a network photos wait, with the reason, and are not failed`() async throws {
    try await withScanFolder { folder in
      _ = try await folder("add", folder.photo("shelf.png"))
      // Nobody may listen on port 1.
      _ = try await folder("run", "--once", "--service", "http://127.0.0.1:1")
      let line = try await folder("status").lines[0]
      #expect(line.hasPrefix("waiting\tshelf.png\t0 books\t"))
      #expect(line.contains("refused"))
      #expect(folder.keptFiles.count == 1)
    }
  }

  @Test(arguments: ["drop-accepted:1", "gateway-timeout:1"])
  func `an upload whose answer is lost is counted, and sent again`(_ misbehaviour: String)
    async throws
  {
    try await Service.run(misbehaviour) { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        let run = try ScanRun(folder, "--service", service.url)
        _ = try await run.said("done\tshelf.png\t3 books, 1 answers lost")
        _ = try await run.end()
        #expect(try await service.counts().jobsCreated == 2)
      }
    }
  }

  @Test func `a refusal stays one where its upload's mark can't be taken back`() async throws {
    try await Service.run("limit-seconds=4:1") { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        try folder.write(
          """
          CREATE TRIGGER held BEFORE UPDATE OF phase ON scan WHEN new.phase = 'waiting'
          BEGIN SELECT RAISE(ABORT, 'the mark stays'); END
          """)
        let ran = try await folder("run", "--once", "--service", service.url)
        #expect(ran.text.contains("the scan service wants no requests for"))
        #expect(!ran.text.contains("the mark stays"))
        #expect(try await folder("status").lines[0] == "done\tshelf.png\t3 books, 1 answers lost")
      }
    }
  }

  @Test func `a run that fails at its end still says what became of the photos`() async throws {
    try await Service.run { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        // Nobody may listen on port 1.
        let ran = try await folder(
          "run", "--once", "--service", service.url, "--sync", "http://127.0.0.1:1", "--token", "t")
        #expect(ran.status == 75)
        let end = try #require(ran.lines.firstIndex { $0.hasPrefix("Error:") })
        for line in ["done\tshelf.png\t3 books", "left today: 199 scans"] {
          #expect(ran.lines[..<end].filter { $0 == line }.count == 1)
        }
      }
    }
  }

  @Test func `every state is told, and a pause counts down`() async throws {
    try await Service.run("delay=300,limit-seconds=4:1") { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        #expect(try await folder("status").text == "waiting\tshelf.png\t0 books\n")
        let run = try ScanRun(folder, "--service", service.url)
        _ = try await run.said("uploading\tshelf.png")
        let said = try await run.said("the scan service wants no requests for")
        #expect((2...4).contains { said.contains("no requests for \($0) s") })
        _ = try await run.said("analysing\tshelf.png")
        _ = try await run.said("done\tshelf.png\t3 books")
        let lines = try await run.end().lines
        #expect(lines.filter { $0 == "left today: 199 scans" }.count == 1)
      }
    }
  }

  @Test func `a used-up day closes the gate until it is over, and photos wait`() async throws {
    // At noon where the service is: this test may run at midnight.
    let begin = ScanClock.system.nowMilliseconds
    let noon = ScanClock { 86_400_000 / 2 + ScanClock.system.nowMilliseconds - begin }
    try await Service.run("daily-quota", clock: noon) { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("one.png"), folder.photo("two.png"))
        let ran = try await folder("run", "--once", "--service", service.url)
        #expect(ran.status == 75)
        let status = try await folder("status").text
        #expect(status.contains("the scan service wants no requests for"))
        #expect(!status.contains("failed"))
        // Both may have been on their way when the first was refused.
        let refused = try await service.counts().refusals["DAILY_QUOTA_EXCEEDED"]
        #expect([1, 2].contains(refused))
        #expect(folder.keptFiles.count == 2)
        // Midnight comes.
        try await service.misbehave("")
        try folder.write(
          "UPDATE grdb_tern_jobgate SET since_ms = since_ms - reopens_ms, reopens_ms = 0")
        _ = try await folder("run", "--once", "--service", service.url)
        let lines = try await folder("status").lines.prefix(2)
        #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix("done\t") })
      }
    }
  }

  @Test func `a scan that the service lost three times can be tried again`() async throws {
    try await Service.run("expired-token") { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        let run = try ScanRun(folder, "--service", service.url)
        _ = try await run.said("failed\tshelf.png", "lost the scan 3 times")
        _ = try await run.end()
        try await service.misbehave("")
        #expect(try await folder("retry").status == 0)
        _ = try await folder("run", "--once", "--service", service.url)
        #expect(try await folder("status").lines[0] == "done\tshelf.png\t3 books")
        #expect(try await service.counts().jobsCreated == 4)
        #expect(folder.keptFiles == [])
      }
    }
  }

  @Test(arguments: ["", "foo", "localhost:8090", "ftp://a.example", "http://a:b@c.example"])
  func `an address that is none is refused, and no photo fails`(_ address: String) async throws {
    try await withScanFolder { folder in
      _ = try await folder("add", folder.photo("shelf.png"))
      let ran = try await folder("run", "--once", "--service", address)
      #expect(ran.status == 64)
      #expect(ran.text.contains("--service is a URL such as"))
      let synced = try await folder(
        "run", "--once", "--service", "http://127.0.0.1:1", "--sync", address, "--token", "t")
      #expect(synced.status == 64)
      #expect(synced.text.contains("--sync is a URL such as"))
      #expect(try await folder("status").text == "waiting\tshelf.png\t0 books\n")
    }
  }

  @Test func `a server that does not let it in is told, while it goes on`() async throws {
    try await withSyncServer { server in
      try await Service.run { service in
        try await withScanFolder { folder in
          _ = try await folder("add", folder.photo("one.png"))
          let run = try ScanRun(
            folder, "--service", service.url, "--sync", server.url, "--token", "wrong")
          _ = try await run.said("not synced: No valid token")
          _ = try await folder("add", folder.photo("two.png"))
          _ = try await run.said("done\ttwo.png")
          let ended = try await run.end()
          #expect(ended.status == 0)
          #expect(ended.lines.filter { $0.hasPrefix("not synced") }.count == 1)
        }
      }
    }
  }

  @Test func `what is left of a day's scans is not told of the next day`() async throws {
    try await Service.run { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        _ = try await folder("run", "--once", "--service", service.url)
        #expect(try await folder("status").lines.last == "left today: 199 scans")
        let end = try folder.read { try Int.fetchOne($0, sql: "SELECT quotaEnds FROM device") }
        // The recognizer's days are those of UTC.
        #expect((end ?? 1) % 86_400 == 0)
        try folder.write("UPDATE device SET quotaEnds = quotaEnds - 86400")
        #expect(try await folder("status").text == "done\tshelf.png\t3 books\n")
      }
    }
  }
}
