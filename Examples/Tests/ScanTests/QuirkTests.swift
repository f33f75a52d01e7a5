import ExampleProcesses
import Foundation
import GRDB
import Testing

/// What services send that the contract allows, or does not quite.
@Suite("What a scan service may send", .serialized, .timeLimit(.minutes(3)))
struct QuirkTests {
  typealias Said = ScriptedScan.Said
  private static let done = "done\tshelf.png\t1 books"

  /// Adds a photo and scans it until the run ends by itself.
  private func scan(
    host: String = "127.0.0.1",
    _ answer: @escaping @Sendable (ScriptedScan.Call, Int) -> Said?,
    then check:
      @escaping @Sendable (ScanFolder, ScriptedScan, ScanFolder.Outcome) async throws ->
      Void
  ) async throws {
    try await ScriptedScan.run(host: host, answer) { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        let ran = try await folder("run", "--once", "--service", service.url)
        try await check(folder, service, ran)
      }
    }
  }

  @Test(arguments: [#""""#, #""http://[""#, #""//other.example/results""#, "5", #"{"a":1}"#])
  func `results whose place can't be asked for are where the contract has them`(_ place: String)
    async throws
  {
    try await scan { call, _ in
      call == .stream ? .events(("complete", #"{"resultsUrl":\#(place)}"#)) : nil
    } then: { folder, service, ran async throws -> Void in
      #expect(ran.status == 0, "\(ran.text)")
      #expect(try await folder.status() == Self.done)
      #expect(service.count(.create) == 1 && service.count(.results) == 1)
    }
  }

  @Test func `a stream that has nothing more to tell leads to the results`() async throws {
    try await scan { call, count in
      guard call == .stream else { return nil }
      // It breaks off by ending, and has forgotten its events when it is opened again.
      return count == 1
        ? .events(("result", ScriptedScan.book)) : Said(type: "text/event-stream")
    } then: { folder, service, ran async throws -> Void in
      #expect(ran.status == 0, "\(ran.text)")
      #expect(try await folder.status() == Self.done)
      #expect(service.count(.create) == 1)
      #expect(
        try folder.read { try Int.fetchOne($0, sql: "SELECT timesScanned FROM book") } == 1)
    }
  }

  @Test func `a stream that ends early is opened again while there are no results`() async throws {
    try await scan { call, count in
      switch (call, count) {
      case (.stream, 1): Said(type: "text/event-stream")
      case (.results, 1): Said(body: #"{"data":{"jobId":"j","status":"PROCESSING","results":[]}}"#)
      default: nil
      }
    } then: { folder, service, ran async throws -> Void in
      #expect(ran.status == 0, "\(ran.text)")
      #expect(try await folder.status() == Self.done)
      #expect(service.count(.stream) == 2 && service.count(.create) == 1)
    }
  }

  static let books = [
    #"{"title":"Dune","author":"Frank Herbert","isbn":9780441172719,"confidence":0.9}"#,
    #"{"title":"Dune","author":["Frank Herbert"],"isbn":"9780441172719","confidence":"0.9"}"#,
    #"{"title":"Dune","authors":["Frank Herbert"],"isbn":441172717,"confidence":0.9}"#,
    #"{"title":"Dune","author":{"name":"Frank Herbert"},"isbn":"978-0441172719","confidence":"0.90"}"#,
  ]

  @Test(arguments: books)
  func `a book is read whatever types its members have`(_ book: String) async throws {
    try await scan { call, _ in
      call == .stream ? .events(("complete", #"{"books":[\#(book)]}"#)) : nil
    } then: { folder, _, ran async throws -> Void in
      #expect(ran.status == 0, "\(ran.text)")
      #expect(
        try await folder("library").text == "9780441172719\tDune\tFrank Herbert\t90%\t×1\n")
    }
  }

  /// By the last event, by the results, or one event each.
  @Test(arguments: ["books", "results", "result"], [1_000, 1_001])
  func `a photo has so many books and no more, whatever the service names`(
    _ way: String, _ count: Int
  ) async throws {
    let books = (1...count).map { #"{"title":"Volume \#($0)"}"# }
    let all = books.joined(separator: ",")
    try await scan { call, _ in
      switch (call, way) {
      case (.stream, "books"): .events(("complete", #"{"books":[\#(all)]}"#))
      case (.stream, "results"): .events(("complete", "{}"))
      case (.stream, _): .each(books.map { ("result", $0) } + [("complete", #"{"books":[]}"#)])
      case (.results, "results"):
        Said(body: #"{"data":{"jobId":"j","status":"completed","results":[\#(all)]}}"#)
      default: nil
      }
    } then: { folder, service, ran async throws -> Void in
      let status = try await folder.status()
      if count == 1_000 {
        #expect(ran.status == 0, "\(ran.text)")
        #expect(status == "done\tshelf.png\t1000 books")
      } else {
        let taken = way == "result" ? 1_000 : 0
        #expect(ran.status == 1, "\(ran.text)")
        #expect(status.hasPrefix("failed\tshelf.png\t\(taken) books\t"), "\(status)")
        #expect(status.contains("more than 1000 books for one photo"), "\(status)")
        #expect(service.count(.create) == 1)
      }
    }
  }

  @Test func `a status in capitals is a status`() async throws {
    try await scan { call, _ in
      switch call {
      case .stream: .events(("complete", "{}"))
      case .results:
        Said(
          body: #"{"data":{"jobId":"j","status":"COMPLETED","results":[\#(ScriptedScan.book)]}}"#)
      default: nil
      }
    } then: { folder, service, ran async throws -> Void in
      #expect(ran.status == 0, "\(ran.text)")
      #expect(try await folder.status() == Self.done)
      #expect(service.count(.results) == 1)
    }
  }

  @Test func `an answer that can't be read is told without names of the program's own`()
    async throws
  {
    try await scan { call, _ in
      call == .create ? Said(status: 202, body: #"{"data":5}"#) : nil
    } then: { folder, _, ran async throws -> Void in
      #expect(ran.status == 1)
      let status = try await folder.status()
      #expect(status.contains("it is not the JSON that was asked for"), "\(status)")
      #expect(!status.contains("Created"))
    }
  }

  // MARK: - Somebody else

  static let pages = [
    Said(type: "text/html", body: "<html>Sign in</html>"),
    Said(body: "<html>Sign in</html>"),
    Said(status: 302, type: "text/html", fields: ["Location": "http://portal.example/"]),
    Said(status: 511, type: "text/html", body: "<html>Sign in</html>"),
    Said(status: 403, type: "text/html", body: "<html>Sign in</html>"),
    Said(status: 503, type: "text/html", body: "<html>Sign in</html>"),
  ]

  @Test(arguments: pages.indices)
  func `a portal's page is no answer of the service, and the photo waits for that`(_ page: Int)
    async throws
  {
    let said = Self.pages[page]
    try await scan(host: "0.0.0.0") { _, _ in
      said
    } then: { folder, service, ran async throws -> Void in
      #expect(ran.status == 75, "\(ran.text)")
      let status = try await folder.status()
      #expect(status.hasPrefix("waiting\tshelf.png\t0 books\t"), "\(status)")
      #expect(status.contains("sign in to the network"), "\(status)")
      // The photo goes to nobody else once it is known that somebody stands there.
      let again = try await folder("run", "--once", "--service", service.url)
      #expect(again.status == 75, "\(again.text)")
      #expect(service.count(.create) == 1 && service.count(.other) >= 1)
      #expect(try await !folder.status().contains("lost"))
    }
  }

  @Test(arguments: [401, 403, 404])
  func `on this machine, what takes no photos is another program, and the photo waits`(
    _ status: Int
  ) async throws {
    try await scan { _, _ in
      Said(status: status, type: "text/html", body: "<html>Not found</html>")
    } then: { folder, _, ran async throws -> Void in
      #expect(ran.status == 75, "\(ran.text)")
      #expect(try await folder.status().contains("check the service's address"))
    }
  }

  @Test func `behind a portal that has gone the photo is sent, and once`() async throws {
    try await scan(host: "0.0.0.0") { call, count in
      call == .create && count == 1 ? Self.pages[0] : nil
    } then: { folder, service, _ async throws -> Void in
      _ = try await folder("run", "--once", "--service", service.url)
      #expect(try await folder.status() == Self.done)
      #expect(service.count(.create) == 2)
    }
  }

  @Test func `a portal in the middle of a scan costs no other job`() async throws {
    try await scan(host: "0.0.0.0") { call, count in
      call == .stream && count == 1 ? Self.pages[4] : nil
    } then: { folder, service, _ async throws -> Void in
      _ = try await folder("run", "--once", "--service", service.url)
      #expect(try await folder.status() == Self.done)
      #expect(service.count(.create) == 1)
    }
  }

  @Test(arguments: [401, 403, 404, 410], ["text/plain", "text/html"])
  func `a job that is gone may say so without a word, and costs another`(
    _ status: Int, _ type: String
  ) async throws {
    try await scan { call, count in
      call == .stream && count == 1 ? Said(status: status, type: type) : nil
    } then: { folder, service, ran async throws -> Void in
      #expect(ran.status == 0, "\(ran.text)")
      #expect(service.count(.create) == 2)
    }
  }
}
