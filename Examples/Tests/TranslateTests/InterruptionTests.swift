import ExampleProcesses
import Foundation
import Testing

@Suite("A signal", .serialized, .timeLimit(.minutes(2)))
struct InterruptionTests {
  @Test(arguments: [SIGINT, SIGTERM])
  func `while lines come in takes nothing that came`(_ signal: CInt) async throws {
    let port = try await TestService.closedPort()
    try await withTranslateFolder { folder in
      _ = try await folder("settings", "service", "http://127.0.0.1:\(port)")
      let process = try folder.start(["--from", "en"])
      try process.write("One dog.\nTwo dogs.\nThree")
      // Each look is a program of its own.
      var looks = 0
      while try await folder.history().count < 2, looks < 500 { looks += 1 }
      // The input's end would make the last line a whole one, and may be read before the signal is.
      process.kill(signal)
      #expect(try await blocking { process.wait() } == signal)
      process.endInput()
      #expect(
        try await folder.history() == ["en→es\tOne dog.\twaiting", "en→es\tTwo dogs.\twaiting"])
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
