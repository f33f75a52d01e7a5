import ArgumentParser
import ExamplePages
import ExampleService

/// Where a program's page is.
package struct PageOptions: ParsableArguments {
  @Option(help: "The page's port, instead of the usual one; 0 for a free one.")
  var port: UInt16?
  @Flag(help: "Print the page's address alone, and open no browser.") var noOpen = false

  package init() {}

  /// Serves a page until the task is cancelled. Its address, with a token that a file beside the
  /// database holds, is said once it listens.
  ///
  /// - Parameter usual: the program's own port.
  /// - Throws: ``PageError``, ``PageTokenError``.
  package func serve(
    _ files: PageFiles, _ program: some PageProgram, beside database: String, usual: UInt16
  ) async throws {
    var generator = SystemRandomNumberGenerator()
    let token = try PageTokenFile(beside: database).token(using: &generator)
    let server = PageServer(files, program: program, token: token, port: Int(port ?? usual))
    try await server.run { [noOpen] address in
      say("the page is at \(address)")
      if !noOpen { PageBrowser.open(address) }
    }
  }
}
