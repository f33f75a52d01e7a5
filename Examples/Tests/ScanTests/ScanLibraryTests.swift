import ExampleProcesses
import Foundation
import Testing

@Suite("The library of a scan", .serialized, .timeLimit(.minutes(3)))
struct ScanLibraryTests {
  private static let long = "9780306406157"
  private static let short = "0-306-40615-2"

  @Test func `the two forms of a book's number are one row`() async throws {
    let books = [
      [Service.book("Sextant", Self.short, 0.6)], [Service.book("Sextant", Self.long, 0.9)],
    ]
    try await Service.run(finding: books) { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("one.png"), folder.photo("two.png", colour: "red"))
        _ = try await folder("run", "--once", "--service", service.url)
        #expect(
          try await folder("library").text == "\(Self.long)\tSextant\tAnn Author\t90%\t×2\n")
      }
    }
  }

  @Test func `what can't be written or opened is said in a sentence`() async throws {
    try await withScanFolder { folder in
      let exported = try await folder("export", folder.path + "/no/books.csv")
      #expect(exported.status == 74)
      #expect(
        exported.text
          == "Error: \(folder.path)/no/books.csv can't be written: No such file or directory\n")
      let text = String(repeating: "This is a letter to somebody. ", count: 100)
      try text.write(toFile: folder.database, atomically: true, encoding: .utf8)
      let opened = try await folder("status")
      #expect(opened.status == 66)
      #expect(
        opened.text
          == "Error: “\(folder.database)” can't be used as the database: file is not a database\n")
      #expect(try String(contentsOfFile: folder.database, encoding: .utf8) == text)
    }
  }

  @Test func `a book in one photo twice was scanned once`() async throws {
    let books = [[Service.book("Sextant", Self.short), Service.book("The Sextant", Self.long)]]
    try await Service.run(finding: books) { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("one.png"))
        _ = try await folder("run", "--once", "--service", service.url)
        let lines = try await folder("library").lines
        #expect(lines.count == 1)
        #expect(lines[0].hasSuffix("\t×1"))
      }
    }
  }

  @Test func `books are searched, reviewed, put right, deleted and exported`() async throws {
    try await Service.run { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        _ = try await folder("run", "--once", "--service", service.url)
        let doubtful = "9780002000024\tThe Velvet Ferryman\tAnn Author\t70%\t×1\treview\n"
        #expect(try await folder("search", "velv auth").text == doubtful)
        #expect(try await folder("search", "97800020").text == doubtful)
        #expect(try await folder("search", "zephyr").text == "")
        #expect(try await folder("search", "\"'*").text.contains("name a word to search for"))
        #expect(try await folder("review").text == doubtful)
        #expect(try await folder("review", "9780002000024").text == "")
        #expect(
          try await folder("edit", "9780001000018", "--title", "An \"Inland\", Viaduct").status == 0
        )
        #expect(try await folder("delete", "9780003000030").status == 0)
        let exported = try await folder("export", folder.path + "/books.csv")
        #expect(exported.text == "2 books in \(folder.path)/books.csv\n")
        let csv = try String(contentsOfFile: folder.path + "/books.csv", encoding: .utf8)
        let lines = csv.split(separator: "\r\n").map {
          $0.split(separator: ",", omittingEmptySubsequences: false).dropLast(3)
        }
        #expect(
          lines.map { $0.joined(separator: ",") } == [
            "isbn,title,author,format,confidence,timesScanned,isReviewed",
            "9780001000018,\"An \"\"Inland\"\", Viaduct\",Ann Author,,0.95,1,true",
            "9780002000024,The Velvet Ferryman,Ann Author,,0.7,1,true",
          ])
      }
    }
  }

  @Test func `a book without an ISBN is found by its own words, the best match first`() async throws
  {
    let books = [
      Service.book("An Essay of Many Other Words on Tides", ""), Service.book("Tides", ""),
      Service.book("Voyage Two", ""),
    ]
    try await Service.run(finding: [books]) { service in
      try await withScanFolder { folder in
        _ = try await folder("add", folder.photo("shelf.png"))
        _ = try await folder("run", "--once", "--service", service.url)
        // Their keys begin with that word.
        #expect(try await folder("search", "title").text == "")
        let found = try await folder("search", "tides").lines.map { $0.split(separator: "\t")[1] }
        #expect(found == ["Tides", "An Essay of Many Other Words on Tides"])
        #expect(try await folder("search", "two ann").lines.count == 1)
      }
    }
  }

  @Test(arguments: [["add"], ["delete", "1"], ["retry"]])
  func `a command waits while another program commits`(_ words: [String]) async throws {
    try await withScanFolder { folder in
      let photos = try await [folder.photo("one.png"), folder.photo("two.png")]
      _ = try await folder("status")
      let process = try await blocking {
        try folder.locked { try folder.start(words + (words == ["add"] ? photos : [])) }
      }
      let said = try await blocking { process.outcome().text }
      switch words[0] {
      case "add": #expect(said.split(separator: "\n").count { $0.hasPrefix("accepted: ") } == 2)
      case "delete": #expect(said.contains("there is no book 1"))
      default: #expect(said == "0 are tried again by `scan run`\n")
      }
    }
  }

  @Test func `a title that a person put right stays at the next scan`() async throws {
    try await Service.run { service in
      try await withScanFolder { folder in
        for title in ["Mine", "Mine too"] {
          _ = try await folder("add", folder.photo("shelf.png"))
          _ = try await folder("run", "--once", "--service", service.url)
          _ = try await folder("edit", "9780001000018", "--title", title)
        }
        _ = try await folder("add", folder.photo("shelf.png"))
        _ = try await folder("run", "--once", "--service", service.url)
        #expect(
          try await folder("search", "mine").text
            == "9780001000018\tMine too\tAnn Author\t95%\t×3\n")
      }
    }
  }

  @Test(arguments: [
    ["edit", "1", "--title", "x"], ["delete", "1"], ["review", "1"],
  ])
  func `what names no book says so`(_ words: [String]) async throws {
    try await withScanFolder { folder in
      let outcome = try await blocking { try folder.start(words).outcome() }
      #expect(outcome.status == 64)
      #expect(outcome.text.contains("there is no book 1; `scan library` lists them"))
    }
  }

  @Test func `an export to where nothing can be written says so`() async throws {
    try await withScanFolder { folder in
      let outcome = try await folder("export", folder.path + "/no/books.csv")
      #expect(outcome.status == 74)
      #expect(!outcome.text.contains("books in"))
    }
  }

  @Test func `scans of one book by two devices merge through a server`() async throws {
    let books = [
      [Service.book("Sextant", Self.short, 0.6)], [Service.book("Sextant", Self.long, 0.9)],
    ]
    try await Service.run(finding: books) { service in
      try await withSyncServer { server in
        try await withScanFolder { one in
          try await withScanFolder { other in
            let sync = [
              "run", "--once", "--service", service.url, "--sync", server.url, "--token",
              server.token,
            ]
            for folder in [one, other, one] {
              if try await folder("library").text.isEmpty {
                _ = try await folder("add", folder.photo("shelf.png"))
              }
              let ran = try await blocking { try folder.start(sync).outcome() }
              #expect(ran.status == 0, "\(ran.text)")
            }
            let merged = "\(Self.long)\tSextant\tAnn Author\t90%\t×2\n"
            #expect(try await one("library").text == merged)
            #expect(try await other("library").text == merged)
          }
        }
      }
    }
  }
}
