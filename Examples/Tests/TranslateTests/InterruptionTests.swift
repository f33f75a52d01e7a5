import ExampleProcesses
import Foundation
import GRDB
import Testing

@Suite(
  "A signal", .serialized,
  .enabled(if: TestService.isInstalled, "Apertium is not installed"), .timeLimit(.minutes(2)))
struct InterruptionTests {
  /// A pipe by name that stays open, as a terminal does.
  private func withPipe(
    _ words: [String], _ folder: TranslateFolder,
    _ body: (ChildProcess, FileHandle) async throws -> Void
  ) async throws {
    let path = folder.path + "/pipe"
    #expect(mkfifo(path, 0o600) == 0)
    let pipe = try #require(FileHandle(forUpdatingAtPath: path))
    let process = try folder.start(words, redirect: #"<"$FILES" 2>&1"#, path)
    try await body(process, pipe)
    process.endInput()
    #expect(try await blocking { process.wait() } == 130)
    try pipe.close()
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func `while lines come in keeps all that came`(_ signal: CInt) async throws {
    let port = try await TestService.closedPort()
    try await withTranslateFolder { folder in
      _ = try await folder("settings", "service", "http://127.0.0.1:\(port)")
      try await withPipe(["--from", "en"], folder) { process, pipe in
        try pipe.write(contentsOf: Data("One dog.\nTwo dogs.\nThree".utf8))
        // Each look is a program of its own.
        var looks = 0
        while try await folder.history().count < 2, looks < 500 { looks += 1 }
        process.kill(signal)
        try await process.read(until: "Stopped: 2 saved")
      }
      #expect(
        try await folder.history() == ["en→es\tOne dog.\twaiting", "en→es\tTwo dogs.\twaiting"])
    }
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func `ends a conversation also after its first answer`(_ signal: CInt) async throws {
    try await TestService.withFolder { _, folder in
      try await withPipe(["chat", "--from", "en", "--to", "es"], folder) { process, pipe in
        try pipe.write(contentsOf: Data("The house.\n".utf8))
        try await process.read(until: "La casa.")
        process.kill(signal)
      }
    }
  }
}

extension ChildProcess {
  /// Reads until it has said a text.
  ///
  /// - Returns: all that was read.
  @discardableResult
  func read(until text: String) async throws -> String {
    try await blocking {
      var said = ""
      while !said.contains(text) {
        guard let bytes = read() else { throw CocoaError(.fileReadUnknown) }
        said += String(decoding: bytes, as: UTF8.self)
      }
      return said
    }
  }
}
