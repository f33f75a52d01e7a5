import ExampleService
import Foundation
import Testing

@Suite("Programs that do a part of the work", .timeLimit(.minutes(1)))
struct ToolTests {
  @Test func `what a tool prints and complains about comes with its status`() async throws {
    let shell = Tool(name: "sh", package: "dash")
    let (output, status) = try await shell.run(
      ["-c", "echo good; echo bad >&2; exit 3"], seconds: 60)
    #expect(output == "good\nbad\n")
    #expect(status == 3)
  }

  @Test func `a tool ends with the task that waits for it`() async throws {
    let pipe = FileManager.default.temporaryDirectory.appending(path: "tool-\(UUID())").path
    try #require(mkfifo(pipe, 0o600) == 0)
    defer { try? FileManager.default.removeItem(atPath: pipe) }
    // It is asked for a hundred seconds, and the test has sixty.
    let waiting = Task {
      try await Tool(name: "sh", package: "dash").run(
        ["-c", #"echo $$ > "$0"; exec sleep 100"#, pipe], seconds: 200)
    }
    // Waits until the tool has opened it, too.
    let said = try await Task.detached {
      try FileHandle(forReadingFrom: URL(filePath: pipe)).readToEnd() ?? Data()
    }.value
    let id = try #require(pid_t(String(decoding: said, as: UTF8.self).dropLast()))
    #expect(kill(id, 0) == 0)
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    #expect(kill(id, 0) == -1 && errno == ESRCH)
  }

  @Test func `a tool that takes too long is ended, and named`() async throws {
    let error = await #expect(throws: ToolError.self) {
      try await Tool(name: "sleep", package: "coreutils").run(["100"], seconds: 0)
    }
    #expect("\(try #require(error))" == "sleep took over 0 seconds")
    #expect(error?.isMissing == false)
  }

  @Test func `a terminal's keys are not for a tool`() async throws {
    // A signal for the group of that number finds none, unless the tool leads its own.
    let script = "kill -0 -$$ && [ /dev/stdin -ef /dev/null ] && echo apart"
    let outcome = try await Tool(name: "sh", package: "dash").run(["-c", script], seconds: 60)
    #expect(outcome.output == "apart\n")
  }

  @Test func `a tool that is not there is named, with what has it`() async throws {
    let error = await #expect(throws: ToolError.self) {
      try await Tool(name: "no-such-tool", package: "nothing").run([], seconds: 60)
    }
    #expect(error?.isMissing == true)
    #expect("\(try #require(error))".contains("apt-get install nothing"))
  }
}
