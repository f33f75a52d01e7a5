#if Server && (os(Linux) || os(macOS))
import ExampleService
import Foundation
import Tern
import TestProcesses
import Testing

@testable import translate

@Suite("What leaves the program")
struct ServiceTests {
  @Test(arguments: [
    ("https://a.example", false), ("http://127.0.0.1:8091", false), ("http://[::1]:1", false),
    ("http://localhost", false), ("http://a.example", true), ("http://127.0.0.1.example", true),
  ])
  func `the key goes over https, or stays on this machine`(
    _ address: String, _ isWithheld: Bool
  ) throws {
    let service = GeminiService(try #require(URL(string: address)), model: "m", key: "secret")
    #expect(service.withholdsKey == isWithheld)
  }

  @Test func `a service that wants another key is told from one that refuses`() {
    func problem(_ status: Int, _ reason: String? = nil, withholdsKey: Bool = false) -> Problem? {
      var problem = HTTPProblem(status: status)
      problem.reason = reason
      return GeminiService.final(problem, withholdsKey: withholdsKey)?.problem
    }
    #expect(problem(403) == .wrongKey && problem(401) == .wrongKey)
    #expect(problem(400, "API_KEY_INVALID") == .wrongKey)
    #expect(problem(403, withholdsKey: true) == .insecure)
    #expect(problem(400) == .refused && problem(400, "OTHER") == .refused)
    #expect(problem(503) == nil && problem(429) == nil)
  }

  @Test func `a program of the system gets no key`() async throws {
    setenv("INTERPRETER_KEY", "secret-of-the-environment", 1)
    defer { unsetenv("INTERPRETER_KEY") }
    let spawned = try Spawned("/usr/bin/env", [], environment: ["SEEN": "yes"])
    let said = try await blocking {
      let output = FileHandle(fileDescriptor: spawned.output, closeOnDealloc: true)
      let said = String(decoding: try output.readToEnd() ?? Data(), as: UTF8.self)
      var status: CInt = 0
      while waitpid(spawned.id, &status, 0) < 0, errno == EINTR {}
      return said
    }
    #expect(said.contains("SEEN=yes") && !said.contains("secret-of-the-environment"))
  }

  @Test func `a terminal obeys no text`() {
    #expect("a\u{1B}[2Jb\u{9B}1m\u{7}".shown() == "a\\u{1B}[2Jb\\u{009B}1m\\u{07}")
    #expect("a\tb\r\nc 👩‍👩‍👧".shown() == "a\\tb\\r\\nc 👩‍👩‍👧")
    #expect("a\tb\nc".shown(keepsLines: true) == "a\tb\nc")
  }
}
#endif
