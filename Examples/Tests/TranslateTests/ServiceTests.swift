import ExampleProcesses
import ExampleService
import ExampleWork
import Foundation
import InterpreterClient
import Tern
import TernJobs
import TernNetwork
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
      guard case .final(let said, _)? = GeminiService.final(problem, withholdsKey: withholdsKey)
      else { return nil }
      return said
    }
    #expect(problem(403) == .wrongKey && problem(401) == .wrongKey)
    #expect(problem(400, "API_KEY_INVALID") == .wrongKey)
    #expect(problem(403, withholdsKey: true) == .insecure)
    #expect(problem(400) == .refused && problem(400, "OTHER") == .refused)
    #expect(problem(503) == nil && problem(429) == nil)
  }

  @Test func `a refusal in the contract's form is the service's, however its name is written`() {
    func isInForm(_ code: String?) -> Bool {
      var problem = HTTPProblem(status: 400)
      problem.code = code
      return GeminiService.isInForm(problem)
    }
    #expect(isInForm("INVALID_ARGUMENT") && isInForm("unavailable"))
    #expect(!isInForm(nil) && !isInForm("sign in"))
  }

  @Test func `what breaks off while the network changes is not the last word`() {
    func isLast(_ before: (Bool, UInt64), _ after: (Bool, UInt64), isLocal: Bool = false) -> Bool {
      JobFailure(.interrupted(isLocal: isLocal), "").isLast(
        ofAttempt: 4, on: NetworkPath(hasRoute: before.0, generation: before.1),
        then: NetworkPath(hasRoute: after.0, generation: after.1))
    }
    #expect(isLast((true, 1), (true, 1)) && isLast((false, 1), (true, 2), isLocal: true))
    #expect(!isLast((true, 1), (true, 2)) && !isLast((false, 1), (false, 1)))
    #expect(!isLast((false, 1), (true, 2)) && !isLast((true, 1), (false, 2)))
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

  @Test func `a program of the system is ended by SIGTERM, whatever this one blocks`() async throws
  {
    let status = try await blocking {
      var (blocked, before) = (sigset_t(), sigset_t())
      sigemptyset(&blocked)
      sigaddset(&blocked, SIGTERM)
      pthread_sigmask(SIG_BLOCK, &blocked, &before)
      defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
      let spawned = try Spawned("/bin/sleep", ["30"])
      close(spawned.output)
      kill(-spawned.id, SIGTERM)
      var status: CInt = 0
      while waitpid(spawned.id, &status, 0) < 0, errno == EINTR {}
      return status
    }
    #expect(status & 0x7F == SIGTERM)
  }

  @Test func `a terminal obeys nothing of what another device said`() {
    let bad = "\u{1B}]0;x\u{7}\n"
    let entry = Entry(
      id: "1", conversation: "1", from: "auto", to: bad, text: "x", found: bad, state: "waiting",
      askedAt: 0)
    #expect(!entry.line.contains { $0 != "\t" && ($0.asciiValue ?? 32) < 32 })
  }

  @Test func `a terminal obeys no text`() {
    #expect("a\u{1B}[2Jb\u{9B}1m\u{7}".shown() == "a\\u{1B}[2Jb\\u{009B}1m\\u{07}")
    #expect("a\tb\r\nc 👩‍👩‍👧".shown() == "a\\tb\\r\\nc 👩‍👩‍👧")
    #expect("a\tb\nc".shown(keepsLines: true) == "a\tb\nc")
  }
}
