#if os(Linux)
import ExampleProcesses
import Testing

/// `script/pages` drives the page itself.
@Suite("The scanner's page")
struct PageTests {
  @Test(.timeLimit(.minutes(3))) func `its address is opened where there is a screen`() async throws
  {
    try await withScanFolder { folder in
      let browser = try FalseBrowser(in: folder.path)
      defer { browser.remove() }
      let serve = [
        try BuiltExecutable.path("scan"), "serve", "--data", folder.database, "--port", "0",
      ]
      let (said, opened) = try await browser.watch(serve, display: ":0", opens: true)
      #expect(said.hasPrefix("http://127.0.0.1:"))
      #expect(opened == said)
      let kept = try await browser.watch(serve + ["--no-open"], display: ":0", opens: false)
      #expect(kept.said.hasPrefix("http://127.0.0.1:"))
      #expect(kept.opened == nil)
    }
  }
}
#endif
