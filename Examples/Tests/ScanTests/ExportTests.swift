import ExampleProcesses
import Foundation
import GRDB
import Testing

@Suite("What scan writes", .serialized, .timeLimit(.minutes(2)))
struct ExportTests {
  private func rights(_ path: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return attributes[.posixPermissions] as? Int ?? -1
  }

  @Test func `an export keeps the file's rights, and the link that leads to it`() async throws {
    try await withScanFolder { folder in
      let (file, link) = (folder.path + "/books.csv", folder.path + "/link.csv")
      #expect(
        FileManager.default.createFile(
          atPath: file, contents: Data("old".utf8), attributes: [.posixPermissions: 0o600]))
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
      let exported = try await folder("export", link)
      #expect(exported.status == 0 && exported.text == "0 books in \(link)\n")
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == file)
      #expect(try String(contentsOfFile: file, encoding: .utf8).hasPrefix("isbn,title"))
      #expect(try rights(file) == 0o600)
      // Nothing else is left there.
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      #expect(names.filter { $0.contains("csv") }.sorted() == ["books.csv", "link.csv"])
    }
  }

  @Test func `what is exported is imported as it was, and what is there stays`() async throws {
    try await withScanFolder { folder in
      _ = try await folder("status")
      try folder.write(
        """
        INSERT INTO book VALUES
          ('9780306406157', '=SUM(A1)', 'Ann "A." Author', 'http://covers.test/1.jpg', 'paperback',
            'success', 0.75, 3, 1, 1700000000000),
          ('title:tides', 'Tides,' || char(10) || 'and more', NULL, NULL, NULL, NULL, 0.4, 1, 0, 0);
        """)
      let (file, again) = (folder.path + "/books.csv", folder.path + "/again.csv")
      _ = try await folder("export", file)
      #expect(try await folder("import", file).text == "0 books added; 2 were there\n")
      try folder.write("DELETE FROM book WHERE confidence < 0.5")
      #expect(try await folder("import", file).text == "1 books added; 1 were there\n")
      try folder.write("DELETE FROM book")
      #expect(try await folder("import", file).text == "2 books added; 0 were there\n")
      _ = try await folder("export", again)
      let text = try String(contentsOfFile: file, encoding: .utf8)
      #expect(try String(contentsOfFile: again, encoding: .utf8) == text)
      #expect(text.contains("'=SUM(A1)"))
      let title = try folder.read { try String.fetchOne($0, sql: "SELECT max(title) FROM book") }
      #expect(title == "Tides,\nand more")
      #expect(
        try folder.read { try Int.fetchOne($0, sql: "SELECT sum(timesScanned) FROM book") } == 4)
    }
  }

  @Test(arguments: [
    ("isbn,name\n1,x\n", "line 1: the columns isbn and title are needed"),
    ("isbn,title\n9780306406157,Sextant\n9780002000024,\n", "line 3: a book has a title"),
    (
      "isbn,title,confidence\n1,Sextant,2\n", "line 2: a book has a title, a confidence from 0 to 1"
    ),
    ("isbn,title\n1,\"Sextant\n", "line 2: a quote opens here and is never closed"),
  ])
  func `a file that is no table of books says where, and adds none`(
    _ text: String, _ reason: String
  ) async throws {
    try await withScanFolder { folder in
      let outcome = try await folder("import", folder.file("books.csv", Array(text.utf8)))
      #expect(outcome.status == 64)
      #expect(outcome.text.contains(reason), "\(outcome.text)")
      #expect(try await folder("library").text == "")
      let none = try await folder("import", folder.path + "/none.csv")
      #expect(none.status == 64 && none.text.contains("can't be read"))
    }
  }

  @Test func `a new export is its owner's alone`() async throws {
    try await withScanFolder { folder async throws in
      let file = folder.path + "/new.csv"
      #expect(try await folder("export", file).status == 0)
      #expect(try rights(file) == 0o600)
    }
  }

  @Test func `an export into a pipe is what its reader gets`() async throws {
    try await withScanFolder { folder in
      let script = """
        mkfifo "$1/pipe" || exit 99
        cat "$1/pipe" >"$1/read" &
        "$0" export "$1/pipe" --data "$1/scan.sqlite" && wait && cat "$1/read" && test -p "$1/pipe"
        """
      let scan = try BuiltExecutable.path("scan")
      let outcome = try await blocking {
        try ScanFolder.merged(["timeout", "20", "sh", "-c", script, scan, folder.path]).outcome()
      }
      #expect(outcome.status == 0, "\(outcome.text)")
      #expect(outcome.lines.last?.hasPrefix("isbn,title") == true, "\(outcome.text)")
    }
  }

  @Test(
    .enabled(if: FileManager.default.isWritableFile(atPath: "/dev/full"), "there is no /dev/full"))
  func `output for which there is no room is told in the system's words`() async throws {
    try await withScanFolder { folder in
      #expect(try await folder("status").status == 0)
      let script = """
        # A link, so that a program that replaces what is there does no harm.
        ln -s /dev/full "$1.full"
        "$0" export "$1.full" --data "$1"; echo "= $?"
        "$0" export "$1.csv" --data "$1" >/dev/full; echo "= $?"
        """
      let scan = try BuiltExecutable.path("scan")
      let outcome = try await blocking {
        try ScanFolder.merged(["sh", "-c", script, scan, folder.database]).outcome()
      }
      #expect(
        outcome.text.contains(
          "Error: \(folder.database).full can't be written: No space left on device\n= 74"),
        "\(outcome.text)")
      #expect(
        outcome.text.contains("The output can't be written: No space left on device\n= 74"),
        "\(outcome.text)")
      #expect(!outcome.text.contains("Cocoa"))
    }
  }

  @Test func `its database is its owner's alone, and one that was there keeps its rights`()
    async throws
  {
    try await withScanFolder { folder in
      _ = try await folder("add", folder.photo("shelf.png"))
      #expect(try rights(folder.database) == 0o600)
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o640], ofItemAtPath: folder.database)
      #expect(try await folder("status").status == 0)
      #expect(try rights(folder.database) == 0o640)
    }
  }

  @Test func `a token comes from a file, and on the command line it warns`() async throws {
    try await withScanFolder { folder in
      let file = folder.path + "/token"
      try "secret\n".write(toFile: file, atomically: true, encoding: .utf8)
      let run = ["run", "--once", "--service", "http://127.0.0.1:1", "--sync", "nonsense"]
      for (words, said) in [
        (["--token-file", file], "--sync is a URL"),
        (["--sync", "http://127.0.0.1:1", "--token-file", file + "s"], "can't be read"),
        (["--sync", "http://127.0.0.1:1", "--token", "secret"], "use TERN_TOKEN or --token-file"),
      ] {
        let outcome = try await blocking { try folder.start(run + words).outcome() }
        #expect(outcome.text.contains(said), "\(outcome.text)")
        #expect(!outcome.text.contains("secret"))
      }
    }
  }

  #if os(Linux)
  @Test(arguments: [["--token", "a-secret-token"], ["--token=a-secret-token"]])
  func `a token on the command line is in no list of processes`(_ words: [String]) async throws {
    try await withScanFolder { folder in
      _ = try await folder("add", folder.photo("shelf.png"))
      let run = try folder.start(
        ["run", "--service", "http://127.0.0.1:1", "--sync", "http://127.0.0.1:1"] + words)
      let seen = try await blocking {
        var text = ""
        while !text.contains("shelf.png"), let bytes = run.read() {
          text += String(decoding: bytes, as: UTF8.self)
        }
        let line = FileManager.default.contents(atPath: "/proc/\(run.id)/cmdline") ?? Data()
        run.kill(SIGTERM)
        _ = run.outcome()
        return String(decoding: line, as: UTF8.self)
      }
      #expect(seen.contains("--token") && !seen.contains("secret"), "\(seen)")
    }
  }
  #endif
}
