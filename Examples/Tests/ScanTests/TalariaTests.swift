#if Rehearsal
import Foundation
import GRDB
@_spi(Rehearsal) import Tern
import Testing

/// What went wrong in the service's first client, case by case: each had lost a scan or told
/// something false.
@Suite("What the first client did wrong", .serialized, .timeLimit(.minutes(3)))
struct TalariaTests {
  @Test func `a scan whose results can't be fetched is not done before they are`() async throws {
    try await Service.run("strip-books,fail-results") { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        let run = try ScanRun(folder, "--service", service.url)
        _ = try await run.said("analysing\tshelf.png", "the server answered 500")
        try await service.misbehave("strip-books")
        #expect(try await !run.said("done\tshelf.png\t3 books").contains("failed"))
        #expect(try await run.end().status == 0)
        #expect(try await folder("library").lines.count == 3)
      }
    }
  }

  @Test func `results are read that are larger than what a step stores`() async throws {
    let long = String(repeating: "a", count: 200_000)
    let books = (1...8).map { Service.book("\(long) \($0)", "978000\($0)000000") }
    try await Service.run(finding: [books], "strip-books") { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        _ = try await folder("run", "--once", "--service", service.url)
        #expect(try await folder("status").lines[0] == "done\tshelf.png\t8 books")
      }
    }
  }

  @Test func `results that never come leave a failed scan with the reason`() async throws {
    try await Service.run("strip-books,fail-results") { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        let run = try ScanRun(folder, "--service", service.url)
        let said = try await run.said("failed\tshelf.png", "the server answered 500")
        #expect(!said.contains("done\t"))
        #expect(try await run.end().status == 0)
        _ = try await folder("retry")
        try await service.misbehave("")
        _ = try await folder("run", "--once", "--service", service.url)
        #expect(try await folder("status").lines[0] == "done\tshelf.png\t3 books")
        #expect(try await service.counts().jobsCreated == 1)
      }
    }
  }

  @Test func `the device's id is the same at every start`() async throws {
    try await Service.run { service in
      try await withScanFolder { folder in
        for name in ["one.png", "two.png", "three.png"] {
          _ = try await folder("add", folder.photo(name))
          _ = try await folder("run", "--once", "--service", service.url)
        }
        let devices = try await service.counts().jobsByDevice
        #expect(Array(devices.values) == [3])
      }
    }
  }

  @Test func `a cut stream goes on after the last event, and none is lost or counted twice`()
    async throws
  {
    // Each book comes with a warning, and only the stream tells of those.
    try await Service.run("degraded,cut-stream=4:1,empty-complete") { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        let run = try ScanRun(folder, "--service", service.url)
        _ = try await run.said("done\tshelf.png\t3 books, 3 incomplete")
        _ = try await run.end()
        let counts = try await service.counts()
        #expect(counts.streamsOpened == 2)
        #expect(counts.jobsCreated == 1)
        let times = try folder.read { try Int.fetchAll($0, sql: "SELECT timesScanned FROM book") }
        #expect(times == [1, 1, 1])
      }
    }
  }

  @Test(arguments: ["", ",strip-books", ",empty-complete"])
  func `a book that can't be read is one warning, however often it is told`(_ more: String)
    async throws
  {
    try await Service.run("unreadable-book:1" + more) { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        _ = try await folder("run", "--once", "--service", service.url)
        #expect(try await folder("status").lines[0] == "done\tshelf.png\t2 books, 1 incomplete")
      }
    }
  }

  @Test func `a stream at another host costs another job, and three are the most`() async throws {
    try await Service.run("foreign-stream:4") { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        _ = try await folder("run", "--once", "--service", service.url)
        let status = try await folder("status").lines[0]
        #expect(status.hasPrefix("failed\tshelf.png\t0 books\tthe service lost the scan 3 times"))
        #expect(status.contains("leads away from the service"))
        _ = try await folder("retry")
        _ = try await folder("run", "--once", "--service", service.url)
        #expect(try await folder("status").lines[0] == "done\tshelf.png\t3 books")
        #expect(try await service.counts().jobsCreated == 5)
      }
    }
  }

  @Test func `pings and warnings are no errors`() async throws {
    try await Service.run("degraded,pings-only:1", pings: .milliseconds(50)) { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        let run = try ScanRun(folder, "--service", service.url, "--stream-seconds", "1")
        let said = try await run.said("done\tshelf.png\t3 books")
        #expect(!said.contains("failed"))
        _ = try await run.end()
        #expect(try await service.counts().jobsCreated == 1)
      }
    }
  }

  @Test(arguments: [
    CrashPoint.jobAfterCopy, .jobBeforeEnqueueCommit, .jobAfterEnqueueCommit,
  ])
  func `a crash leaves a photo with its row, or neither`(_ point: CrashPoint) async throws {
    try await withScanFolder { folder in
      let photo = try await folder.photo("shelf.png")
      let armed = [CrashPoint.armVariable: "\(point.rawValue):1"]
      #expect(try await folder("add", photo, environment: armed).status == SIGKILL)
      let isThere = point == .jobAfterEnqueueCommit
      #expect(try await folder("status").text == (isThere ? "waiting\tshelf.png\t0 books\n" : ""))
      #expect(folder.keptFiles.count == (isThere ? 1 : 0))
    }
  }

  @Test func `an entry that can't be read is shown, and keeps nobody else from going on`()
    async throws
  {
    try await Service.run { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("one.png"), folder.photo("two.png"))
        try folder.write("UPDATE grdb_tern_job SET payload = 'damaged' WHERE id = 1")
        _ = try await folder("run", "--once", "--service", service.url)
        let lines = try await folder("status").lines
        #expect(lines[0].hasPrefix("failed\tone.png\t0 books\t"))
        #expect(lines[0].hasSuffix("; `scan retry` tries again"))
        #expect(!lines[0].contains("no reason was kept"))
        #expect(lines[1] == "done\ttwo.png\t3 books")
        #expect(folder.keptFiles.count == 1)
      }
    }
  }

  @Test func `a token that has expired meanwhile costs another job, and not the scan`()
    async throws
  {
    try await Service.run("expired-token:1") { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        let run = try ScanRun(folder, "--service", service.url)
        _ = try await run.said("done\tshelf.png\t3 books")
        _ = try await run.end()
        let counts = try await service.counts()
        #expect(counts.jobsCreated == 2)
        #expect(counts.refusals["TOKEN_EXPIRED", default: 0] >= 1)
        // Nothing is left to be tried again.
        _ = try await folder("run", "--once", "--service", service.url)
        #expect(try await folder("retry").text == "0 are tried again by `scan run`\n")
      }
    }
  }
}
#endif
