import Testing

@testable import RecognizerKit

@Suite("Programs that do a part of the work", .timeLimit(.minutes(1)))
struct ToolTests {
  @Test func `what a tool prints and complains about comes with its status`() async throws {
    let shell = Tool(name: "sh", package: "dash")
    let (output, status) = try await shell.run(["-c", "echo good; echo bad >&2; exit 3"])
    #expect(output == "good\nbad\n")
    #expect(status == 3)
  }

  @Test func `a tool ends with the task that waits for it`() async throws {
    // It is asked for a hundred seconds, and the test has sixty.
    let waiting = Task { try await Tool(name: "sleep", package: "coreutils").run(["100"]) }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
  }

  @Test func `a tool that is not there is named, with what has it`() async throws {
    let error = await #expect(throws: ToolError.self) {
      try await Tool(name: "no-such-tool", package: "nothing").run([])
    }
    #expect("\(try #require(error))".contains("apt-get install nothing"))
  }
}
