import ExampleProcesses
import Foundation
import Testing

/// `library`, the smallest example, as its own process.
@Suite(.timeLimit(.minutes(2)))
struct LibraryCommandTests {
  /// Calls a body with a folder, and the command with a database in it.
  private func withLibrary(
    _ body: (_ folder: String, _ library: [String]) async throws -> Void
  ) async throws {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "tern-library-\(ProcessInfo.processInfo.globallyUniqueString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let library = try BuiltExecutable.path("library")
    try await body(folder, [library, "--data", folder + "/library.sqlite"])
  }

  private static let catalogue =
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Library/catalogue.csv").path

  @Test(arguments: [
    (["list", "--limt", "3"], "there is no option --limt"),
    (["lst"], "there is no command lst"), (["rate", "1", "high"], "rate needs another argument"),
    (["count"], "count needs another argument"), (["delete"], "the key is missing"),
  ])
  func `a word that says nothing is named, and makes no database`(
    _ words: [String], _ reason: String
  ) async throws {
    try await withLibrary { folder, library in
      let (output, code) = try await run(library + words)
      #expect(code == 64)
      #expect(output.hasPrefix("library: \(reason)\n"))
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }
  }

  @Test func `the help has the commands and how the program ends`() async throws {
    try await withLibrary { _, library in
      let (output, code) = try await run(Array(library.prefix(1)) + ["--help"])
      #expect(code == 0 && output.hasPrefix("library --data FILE <command>\n"))
      for status in ["0 ", "1 ", "64 ", "66 ", "74 ", "75 ", "130 "] {
        #expect(output.contains("\n  \(status)"), "\(status)")
      }
    }
  }

  @Test func `a catalogue is read whatever its years and its byte order mark`() async throws {
    try await withLibrary { folder, library in
      let path = folder + "/books.csv"
      let text = """
        \u{FEFF}isbn,authors,original_publication_year,title
        1,Ann,1e30,One
        2,Bea,nan,Two
        3,Cyd,-720.0,"Three, the
        third"
        """
      try text.write(toFile: path, atomically: true, encoding: .utf8)
      #expect(try await run(library + ["import", path]).output == "imported: 3 of 3\n")
      #expect(
        try await run(library + ["list"]).output
          == "1\tOne\t0\t0\n2\tTwo\t0\t0\n3\tThree, the\nthird\t0\t0\n")
    }
  }

  @Test(arguments: [
    ("isbn,title\n1,\"One\n2,Two\n", "line 2: a quote opens here and is never closed"),
    ("isbn,title\n1,One\n,Two\n", "line 3: a book with neither isbn nor book_id"),
  ])
  func `a catalogue with a book that is none is refused by its line`(
    _ text: String, _ reason: String
  ) async throws {
    try await withLibrary { folder, library in
      let path = folder + "/books.csv"
      try text.write(toFile: path, atomically: true, encoding: .utf8)
      let (output, code) = try await run(library + ["import", path])
      #expect(code == 64)
      #expect(output.hasPrefix("library: \(path): \(reason)"))
      #expect(try await run(library + ["list"]).output == "")
      let missing = try await run(library + ["import", folder + "/none.csv"])
      #expect(missing.output == "library: \(folder)/none.csv: No such file or directory\n")
    }
  }

  @Test func `a folder with a colon is a folder, and an address without a scheme is none`()
    async throws
  {
    try await withLibrary { folder, library in
      let sync = library + ["sync", "--once", "--space", "home"]
      let shared = folder + "/fo:lder"
      try FileManager.default.createDirectory(atPath: shared, withIntermediateDirectories: true)
      let (output, code) = try await run(sync + [shared])
      #expect(code == 0, "\(output)")
      for address in ["localhost:8090", "ftp://a.example"] {
        let refused = try await run(sync + [address, "--token", "t"])
        #expect(refused.code == 64)
        #expect(refused.output.hasPrefix("library: that is no URL: \(address)\n"))
      }
    }
  }

  @Test(arguments: [SIGTERM, SIGINT])
  func `a signal ends a sync in the middle of its edits`(_ signal: CInt) async throws {
    try await withLibrary { folder, library in
      _ = try await run(library + ["import", Self.catalogue])
      // Three seconds of edits, if nothing ends them.
      let sync = ["sync", folder, "--space", "home", "--run", "--edits", "600"]
      let (output, code) = try await run(library + sync) { said, process in
        if said.contains("\t") { process.kill(signal) }
      }
      #expect(code == 0)
      #expect(!output.contains("edits: done"))
      #expect(output.split(separator: "\n").last?.hasPrefix("synced: ") == true, "\(output)")
    }
  }

  #if os(Linux)
  @Test func `output that can't be written ends it with 74 and a sentence`() async throws {
    try await withLibrary { _, library in
      let script = #"exec "$@" stats >/dev/full"#
      let (output, code) = try await run(["/bin/sh", "-c", script, "sh"] + library)
      #expect(code == 74)
      #expect(output.contains("The output can't be written"))
    }
  }
  #endif
}
